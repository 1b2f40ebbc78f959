// What --sass-metrics can count: metrics by CUPTI's names, and words for those that answer a question together.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::record {

// CUPTI's names, ',' between, each once. Errors are usage errors.
Result<std::string> counted_metrics(const std::vector<std::string>& words);

}  // namespace gpuprof::record
