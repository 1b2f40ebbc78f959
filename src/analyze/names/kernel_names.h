// Kernel names as people read them. Demangled names of templates are signatures: what tells two kernels apart stands
// between a return type, namespaces, pointers and iterators that every kernel of the library has.
//
// The rules, in this order; a name that they do not fit (brackets that do not match, no template and no parameters)
// stays as it is, and so does a label such as "[copy HtoD]":
// - " [clone .N]", ".kd" (AMD) and "typeinfo name for " (SYCL) are left out, and so are the return type and the
//   parameters: "void f<int>(int*)" -> "f<int>".
// - What only wraps another kernel is left out: cutlass::Kernel<X>, cutlass::Kernel2<X>, cutlass::device_kernel<X> and
//   Thrust's _kernel_agent<X, ...> are X.
// - The kernel itself keeps its namespaces; in its arguments names have none: "at::native::FillFunctor<float>" ->
//   "FillFunctor<float>". Anonymous and inline ones go everywhere: "cub::CUB_200200_800_NS::", "std::__1::".
// - Of lambdas in lambdas the innermost stays, with its parameters, after the function that they are in:
//   "f(int)::{lambda()#3}::operator()() const::{lambda(float)#1}" -> "f::{lambda(float)}".
// - Arguments that say nothing become "...", once for all that lie side by side: PyTorch's pointers and offset
//   calculators (std::array<char*, 3ul>, TrivialOffsetCalculator<1>, LoadWithoutCast). Defaults of the standard library
//   (std::allocator, std::less, std::char_traits ...) are left out without a trace.
// - Numbers lose their suffix and their cast: "4ul" -> "4", "(bool)1" -> "1".
// - Kernels without a template (cuBLAS, Triton, NCCL, XLA, OpenCL) have names that are meant to be read: they stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::analyze {

// "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int,
// ...)"
// -> "at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, ...>". Two kernels may get the same name.
std::string short_kernel_name(std::string_view name);

// The same in at most `width` characters: where it is too long, arguments of arguments become "<...>" first, then the
// namespaces go, then all arguments; what is still too long is cut in the middle.
// A function of the CPU is more often a method, which says little without its class: that stays.
enum class Named : uint8_t { kernel, function };
std::string short_kernel_name(std::string_view name, size_t width, Named what = Named::kernel);

// The same in several forms, of which each says more than the one before: without any argument, with arguments but
// not theirs, ..., and last the name as it is. For names that look the same in `width` characters.
inline constexpr size_t kKernelNameForms = 6;
std::string kernel_name_form(std::string_view name, size_t form);

}  // namespace gpuprof::analyze
