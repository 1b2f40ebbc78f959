#include "compare/pairs/names.h"

#include <string>

#include "catch.h"

using gpuprof::compare::normalized_function;
using gpuprof::compare::normalized_kernel;

namespace {

void check_alike(const std::string& a, const std::string& b) {
  INFO(a << " and " << b);
  CHECK(normalized_kernel(a) == normalized_kernel(b));
}

void check_unlike(const std::string& a, const std::string& b) {
  INFO(a << " and " << b);
  CHECK(normalized_kernel(a) != normalized_kernel(b));
}

}  // namespace

TEST_CASE("template arguments, parameters and return types are ignored") {
  CHECK(normalized_kernel("void at::native::vectorized_elementwise_kernel<4, AddFunctor<float>, std::array<char*, 3ul> "
                          ">(int, AddFunctor<float>, std::array<char*, 3ul>)") ==
        "at::native::vectorized_elementwise_kernel");
  CHECK(normalized_kernel("void (anonymous namespace)::softmax<float>(float*)") == "(anonymous namespace)::softmax");
  CHECK(normalized_kernel("saxpy(float, float*) [clone .kd]") == "saxpy");
  CHECK(normalized_kernel("f<(E)1, &g<2> >(int)::{lambda(int)#3}::operator()(int) const") == "f::{lambda}::operator()");
  check_alike("f(int)::{lambda(int)#1}::operator()(int) const", "f(int)::{lambda(int)#12}::operator()(int) const");
}

TEST_CASE("suffixes of autotuners and caches are ignored") {
  check_alike("matmul_kernel_0d1d2d3de4c", "matmul_kernel_0d1d2d");
  check_alike("matmul_kernel__1e2c", "matmul_kernel");
  check_alike("triton_poi_fused_add_relu_12", "triton_poi_fused_add_relu_7");
  check_alike("fused_3f2a9c0d11ee", "fused_77aa01bc99fd");
  check_alike("sm80_xmma_gemm_f32f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_kernel",
              "sm80_xmma_gemm_f32f32_f32_tn_n_tilesize64x64x64_stage5_warpsize2x4x1_kernel");
  check_alike("cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4",
              "cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align8");
}

TEST_CASE("parts that distinguish kernels are kept") {
  check_unlike("triton_poi_fused_add_12", "triton_poi_fused_mul_12");
  check_unlike("sm80_xmma_gemm_f32", "sm80_xmma_gemm_f16");
  check_unlike("a::reduce<int>(int)", "b::reduce<int>(int)");
  check_unlike("[copy HtoD]", "[copy DtoH]");
  CHECK(normalized_kernel("[copy HtoD]") == "[copy HtoD]");
  CHECK(normalized_kernel("deadbeef") == "deadbeef");  // a word without a digit
  CHECK(normalized_kernel("_") == "_");
  CHECK(normalized_kernel("<") == "<");
  CHECK(normalized_kernel("x::operator<(int)") == "x::operator<");
  CHECK(normalized_kernel("x::operator->() const") == "x::operator->");
}

TEST_CASE("functions keep the numbers in their names") {
  CHECK(normalized_function("layer_1") == "layer_1");
  CHECK(normalized_function("f.isra.0") == "f");
  CHECK(normalized_function("std::vector<int>::push_back(int)") == "std::vector::push_back");
  CHECK(normalized_function("foo::operator bool() const") == "foo::operator bool");
  CHECK(normalized_function("model.forward") == "model.forward");
}

TEST_CASE("a hostile name takes time linear in its length") {
  const std::string open(1 << 20, '<');
  CHECK(normalized_kernel(open).size() <= open.size());
  const std::string bars(1 << 20, '_');
  CHECK_FALSE(normalized_kernel(bars).empty());
  std::string spaces = "(anonymous";
  for (int i = 0; i < 100000; ++i) {
    spaces += " (anonymous";
  }
  CHECK_FALSE(normalized_kernel(spaces).empty());
}
