#include "analyze/names/kernel_names.h"

#include <string>

#include "base/text/utf8.h"
#include "catch.h"

using gpuprof::utf8_length;
using gpuprof::analyze::short_kernel_name;

TEST_CASE("a PyTorch kernel keeps its functor and loses the parts that all PyTorch kernels share") {
  CHECK(short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                          "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)") ==
        "at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, ...>");
  CHECK(short_kernel_name("void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, "
                          "at::detail::Array<char*, 3>, TrivialOffsetCalculator<2, unsigned int>, "
                          "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithoutCast, "
                          "at::native::memory::StoreWithoutCast>(int, at::native::CUDAFunctor_add<float>)") ==
        "at::native::unrolled_elementwise_kernel<CUDAFunctor_add<float>, ...>");
  CHECK(short_kernel_name(
            "void at::native::elementwise_kernel<128, 2, "
            "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
            "{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}>"
            "(at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"
            "operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1} const&)::{lambda(int)#1}>(int, "
            "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
            "{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}>"
            "(at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"
            "operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1} const&)::{lambda(int)#1})") ==
        "at::native::elementwise_kernel<128, 2, gpu_kernel_impl_nocast<direct_copy_kernel_cuda::{lambda(float)}>::"
        "{lambda(int)}>");
  CHECK(short_kernel_name("void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true, false>"
                          "(float*, float const*, int, int, int, bool const*, int, bool)") ==
        "softmax_warp_forward<float, float, float, 8, true, false>");
  CHECK(short_kernel_name("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
                          "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>"
                          "::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >"
                          "(at::native::ReduceOp<float>)") ==
        "at::native::reduce_kernel<512, 1, ReduceOp<float, func_wrapper_t<float, sum_functor<float, float, float>::"
        "{lambda(float, float)}>, unsigned int, float, 4>>");
  CHECK(short_kernel_name("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
                          "cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, "
                          "true>(pytorch_flash::Flash_fwd_params)") ==
        "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, bfloat16_t, "
        "Flash_kernel_traits<64, 128, 128, 4, bfloat16_t>>, false, true>");
}

TEST_CASE("wrapper templates are removed from kernel names") {
  CHECK(short_kernel_name("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8>("
                          "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8::Params)") ==
        "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8");
  CHECK(short_kernel_name("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>, "
                          "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90<3> > > >"
                          "(cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>, int>::Params)") ==
        "cutlass::gemm::kernel::GemmUniversal<tuple<int, int>, CollectiveMma<MainloopSm90<3>>>");
  CHECK(short_kernel_name("void thrust::THRUST_200302_800_NS::cuda_cub::core::_kernel_agent<"
                          "thrust::THRUST_200302_800_NS::cuda_cub::__parallel_for::ParallelForAgent<"
                          "thrust::THRUST_200302_800_NS::cuda_cub::__uninitialized_fill::functor<"
                          "thrust::THRUST_200302_800_NS::device_ptr<float>, float>, unsigned long>, unsigned long>"
                          "(unsigned long)") ==
        "thrust::cuda_cub::__parallel_for::ParallelForAgent<functor<device_ptr<float>, float>, unsigned long>");
  CHECK(short_kernel_name("void cutlass::Kernel<>(int)") == "cutlass::Kernel<>");
}

TEST_CASE("names of CUB, of cuBLAS and of plain functions are shortened") {
  CHECK(short_kernel_name("void cub::CUB_200200_800_NS::DeviceReduceKernel<cub::CUB_200200_800_NS::DeviceReducePolicy<"
                          "float, int, cub::CUB_200200_800_NS::Sum>::Policy600, float*, float*, int>(float*)") ==
        "cub::DeviceReduceKernel<DeviceReducePolicy<float, int, Sum>::Policy600, float*, float*, int>");
  CHECK(short_kernel_name(
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float const, (bool)0, "
            "32ul, -1l>(cublasGemvParamsEx<int>)") == "internal::gemvx::kernel<int, int, float const, 0, 32, -1>");
  CHECK(short_kernel_name("void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true>(int*)") ==
        "cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true>");
  CHECK(short_kernel_name("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)") ==
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  CHECK(short_kernel_name("vectorAdd(float const*, float*, int) [clone .kd]") == "vectorAdd");
  CHECK(short_kernel_name("void f<std::vector<int, std::allocator<int> > >(int)") == "f<vector<int>>");
  CHECK(short_kernel_name("void f<int, &(void g<int>(int))>(int)") == "f<int, &(void g<int>(int))>");
  CHECK(short_kernel_name("typeinfo name for main::{lambda(sycl::handler&)#1}") == "main::{lambda(handler&)}");
  CHECK(short_kernel_name("void f<Less<int>::operator<>(int)") == "f<Less<int>::operator<>");
}

TEST_CASE("names that are short by design stay as they are") {
  for (const char* const name :
       {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel",
        "triton_poi_fused_add_relu_0", "_attn_fwd", "ampere_sgemm_128x64_tn",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT", "loop_add_fusion_1", "[copy HtoD]", "[cudaLaunchKernel launches]",
        "[kernel name not known]", "", "a b"}) {
    CHECK(short_kernel_name(name) == name);
  }
}

TEST_CASE("malformed names stay as they are") {
  for (const char* const name :
       {"f<", "void f<int", "f>", "<>", "()", "f<(>)", "{", "operator", "::", "void ", "f<a::", "> >", "void f(int"}) {
    CHECK(short_kernel_name(name) == name);
  }
  std::string deep;
  for (int i = 0; i < 20000; ++i) {
    deep = "f<" + deep;
  }
  deep.append(20000, '>');
  CHECK(short_kernel_name(deep).size() < 200);
  CHECK(utf8_length(short_kernel_name(deep, 20)) <= 20);
  CHECK(short_kernel_name(std::string(100000, '<')).size() == 100000);
}

TEST_CASE("a kernel whose name looks like a version namespace keeps it") {
  for (const char* name : {"__1", "__cxx11", "CUB_x_NS"}) {
    CHECK(short_kernel_name(name) == name);
    CHECK(short_kernel_name(std::string("void ") + name + "(int)") == name);
  }
}

TEST_CASE("a name is fitted into a width by dropping its least informative parts first") {
  const std::string name =
      "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, bool, "
      "at::native::CompareFunctor<float> >, std::array<char*, 3ul> >(int)";
  CHECK(short_kernel_name(name, 120) ==
        "at::native::vectorized_elementwise_kernel<4, BinaryFunctor<float, float, bool, CompareFunctor<float>>, ...>");
  CHECK(short_kernel_name(name, 105) ==
        "at::native::vectorized_elementwise_kernel<4, BinaryFunctor<float, float, bool, CompareFunctor<...>>, ...>");
  CHECK(short_kernel_name(name, 95) ==
        "vectorized_elementwise_kernel<4, BinaryFunctor<float, float, bool, CompareFunctor<...>>, ...>");
  CHECK(short_kernel_name(name, 70) == "at::native::vectorized_elementwise_kernel<4, BinaryFunctor<...>, ...>");
  CHECK(short_kernel_name(name, 60) == "vectorized_elementwise_kernel<4, BinaryFunctor<...>, ...>");
  CHECK(short_kernel_name(name, 40) == "vectorized_elementwise_kernel<...>");
  for (size_t width = 4; width < 130; ++width) {
    CHECK(utf8_length(short_kernel_name(name, width)) <= width);
  }
}
