#include "analyze/names/distinct_names.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text/utf8.h"
#include "catch.h"

using namespace gpuprof;
using analyze::distinct_kernel_names;
using Names = std::vector<std::string>;

namespace {

std::string elementwise(const std::string& functor) {
  return "void at::native::vectorized_elementwise_kernel<4, at::native::" + functor +
         ", std::array<char*, 3ul> >(int, at::native::" + functor + ", std::array<char*, 3ul>)";
}

}  // namespace

TEST_CASE("kernels of one template get the arguments appended that distinguish them") {
  const Names names = {elementwise("FillFunctor<float>"), elementwise("AddFunctor<float>"),
                       elementwise("AddFunctor<c10::Half>")};
  CHECK(distinct_kernel_names(names, 50) == Names{"vectorized_elementwise_kernel [FillFunctor]",
                                                  "vectorized_elementwise_kernel [AddFunctor, float]",
                                                  "vectorized_elementwise_kernel [AddFunctor, Half]"});
  CHECK(distinct_kernel_names(names, 43) == Names{"vectorized_elementwise_kernel [FillFunctor]",
                                                  "vectorized...ise_kernel [AddFunctor, float]",
                                                  "vectorized_...ise_kernel [AddFunctor, Half]"});
  // If the complete kernel name fits into the width, it is not shortened, so it needs no "[argument]" at its end.
  CHECK(distinct_kernel_names(names, 90)[1] == "at::native::vectorized_elementwise_kernel<4, AddFunctor<float>, ...>");
}

TEST_CASE("plain names that are cut get the differing words appended") {
  CHECK(distinct_kernel_names({"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_kernel",
                               "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64_execute_kernel"},
                              40) ==
        Names{"sm90_xmma_gemm_b...4_execute_kernel [tn]", "sm90_xmma_gemm_b...4_execute_kernel [nt]"});
}

TEST_CASE("names that differ only in hidden parameters show them, in full or as a suffix") {
  const Names overloads = {"void ns::f(int)", "void ns::f(float)"};
  CHECK(distinct_kernel_names(overloads, 30) == overloads);
  const std::string tail = ", " + std::string(60, 'x') + ")";
  CHECK(distinct_kernel_names({"void scale<4>(int" + tail, "void scale<4>(float" + tail}, 30) ==
        Names{"scale [int]", "scale [float]"});
}

TEST_CASE("names that no fitting suffix can distinguish get a number") {
  const std::string begin(100, 'a');
  const std::string end(100, 'z');
  Names names;
  for (int i = 0; i < 300; ++i) {
    names.push_back(begin + std::to_string(i) + end);
  }
  const Names shown = distinct_kernel_names(names, 30);
  CHECK(std::set<std::string>(shown.begin(), shown.end()).size() == names.size());
  CHECK(shown[1].ends_with(" #2"));
  for (const std::string& name : shown) {
    CHECK(utf8_length(name) <= 30);
  }
}

TEST_CASE("shortened names are distinct and within the width for any input") {
  const Names names = {"f<a>",
                       "f<b>",
                       "f<a> ",
                       "f(",
                       "f<<",
                       "f>>",
                       "",
                       "f<,>",
                       "f<,,>",
                       "f<a, b>#2",
                       "f<a> #2",
                       "[copy HtoD]",
                       "[copy]",
                       std::string(70, '<'),
                       std::string(71, '<'),
                       std::string(72, '<') + "a",
                       std::string(72, '<') + "b",
                       elementwise("A<B<C<D>>>"),
                       elementwise("A<B<C<E>>>"),
                       elementwise("A<B<F<E>>>"),
                       elementwise("\xC3\xA4"),
                       elementwise("\xC3\xB6")};
  for (const size_t width : {size_t{20}, size_t{21}, size_t{43}, size_t{70}, size_t{500}}) {
    const Names shown = distinct_kernel_names(names, width);
    CHECK(std::set<std::string>(shown.begin(), shown.end()).size() == names.size());
    CHECK(std::all_of(shown.begin(), shown.end(), [width](const auto& name) { return utf8_length(name) <= width; }));
  }
}

TEST_CASE("equal texts are numbered, and a text that ends in a number like these is not duplicated") {
  Names texts = {"f (a.py)", "f (a.py) #2", "f (a.py)", "g"};
  analyze::number_equal_texts(texts, 40);
  CHECK(texts == Names{"f (a.py)", "f (a.py) #2", "f (a.py) #3", "g"});
}
