// Shortens kernel names for people. Demangled names of templates are long signatures: the few distinctive words stand
// between return types, namespaces, pointers and iterators that all kernels of a library share.
//
// The rules are applied in this order. Labels such as "[copy HtoD]" and names that the rules do not fit (unmatched
// brackets, neither template nor parameters) stay unchanged.
// - " [clone .N]", ".kd" (AMD), "typeinfo name for " (SYCL), the return type and the parameters are removed:
//   "void f<int>(int*)" -> "f<int>".
// - Wrappers are replaced by the kernel X that they run: cutlass::Kernel<X>, cutlass::Kernel2<X>,
//   cutlass::device_kernel<X> and Thrust's _kernel_agent<X, ...>.
// - The kernel keeps its namespaces, its arguments lose theirs: "at::native::FillFunctor<float>" ->
//   "FillFunctor<float>". Anonymous and inline namespaces are always removed: "cub::CUB_200200_800_NS::", "std::__1::".
// - Nested lambdas are reduced to the innermost one with its parameters, after the enclosing function:
//   "f(int)::{lambda()#3}::operator()() const::{lambda(float)#1}" -> "f::{lambda(float)}".
// - Adjacent arguments without information become one "...": PyTorch's pointers and offset calculators
//   (std::array<char*, 3ul>, TrivialOffsetCalculator<1>, LoadWithoutCast). Default arguments of the standard library
//   (std::allocator, std::less, std::char_traits ...) are removed.
// - Numbers lose their suffix and their cast: "4ul" -> "4", "(bool)1" -> "1".
// - Kernels without a template (cuBLAS, Triton, NCCL, XLA, OpenCL) have readable names, which stay unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::analyze {

// Applies the rules above: "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>,
// std::array<char*, 1ul> >(int, ...)" becomes "at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, ...>".
// Two kernels may get the same short name.
std::string short_kernel_name(std::string_view name);

// Returns the name in at most `width` characters. Replaces arguments of arguments with "<...>" first, then removes the
// namespaces, then all arguments, and at last cuts the middle. A CPU function (Named::function) keeps one qualifier:
// methods mean little without their class.
enum class Named : uint8_t { kernel, function };
std::string short_kernel_name(std::string_view name, size_t width, Named what = Named::kernel);

// Returns the name in form 0 to kKernelNameForms - 1, each with more detail than the one before. Form 0 has no
// arguments, form 1 only the outermost arguments, form 2 two levels, and so on; the last form is the unchanged name.
// Used to distinguish names that look the same when they are cut to `width` characters.
inline constexpr size_t kKernelNameForms = 6;
std::string kernel_name_form(std::string_view name, size_t form);

}  // namespace gpuprof::analyze
