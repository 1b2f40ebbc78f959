// Names of one screen: short, and no two of them the same.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyze/names/kernel_names.h"

namespace gpuprof::analyze {

// short_kernel_name() of each of `names`, which are all different, in at most `width` characters; the first is the one
// that matters most. Those that would look the same are shown as they are where that fits, or else with what tells them
// apart behind them: "vectorized_elementwise_kernel [FillFunctor]"; and where there is no room for that, with a number.
std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& names, size_t width,
                                               Named what = Named::kernel);

// Texts that are like an earlier one get a number: "f (lib.py) #2". None gets longer than `width`, which has room for
// such a number, unless it was.
void number_equal_texts(std::vector<std::string>& texts, size_t width);

}  // namespace gpuprof::analyze
