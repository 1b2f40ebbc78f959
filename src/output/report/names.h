// What a report calls things, the same wherever they stand in it. Internal to the report.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "analyze/rows/summarize.h"
#include "output/report/report.h"

namespace gpuprof::output {

class Names {
 public:
  // The summary must outlive it.
  Names(const analyze::Summary& summary, const ReportOptions& options);

  // GPU or host work, or a stall reason, of the summary: no two of them have the same text. `beside`: short enough to
  // stand beside its numbers.
  [[nodiscard]] const std::string& work(std::string_view name, bool beside) const {
    return (beside ? beside_ : below_).at(name);
  }
  // Where the function stands among the top functions: the further behind, the less else it calls. 0: nowhere.
  [[nodiscard]] size_t rank(std::string_view function) const {
    const auto found = functions_.find(function);
    return found == functions_.end() ? 0 : found->second;
  }

 private:
  using Texts = std::unordered_map<std::string_view, std::string>;
  Texts below_;
  Texts beside_;
  std::unordered_map<std::string_view, size_t> functions_;
};

}  // namespace gpuprof::output
