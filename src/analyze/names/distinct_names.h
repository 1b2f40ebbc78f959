// Makes short, distinct names for kernels or functions that are shown together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyze/names/kernel_names.h"

namespace gpuprof::analyze {

// Shortens each of `names` to at most `width` characters. `names` are all different, the most important one first. If
// several short names are equal, shows the complete names where they fit. Otherwise appends what differs
// ("vectorized_elementwise_kernel [FillFunctor]") or, if that does not fit either, a number.
std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& names, size_t width,
                                               Named what = Named::kernel);

// Appends a number to each text that equals an earlier one: "f (lib.py) #2". Cuts the text so that it does not exceed
// `width`, or its own length if that is larger. `width` must be large enough for the number.
void number_equal_texts(std::vector<std::string>& texts, size_t width);

}  // namespace gpuprof::analyze
