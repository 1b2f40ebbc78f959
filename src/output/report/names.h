// Shortens names for a report, so that a name is the same in all tables. Internal to the report.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "analyze/rows/summarize.h"
#include "output/report/report.h"

namespace gpuprof::output {

class Names {
 public:
  // The summary must outlive this object.
  Names(const analyze::Summary& summary, const ReportOptions& options);

  // Returns the unique text of a work item or stall reason. `beside`: the text must fit in one line with its numbers.
  [[nodiscard]] const std::string& work(std::string_view name, bool beside) const {
    return (beside ? beside_ : below_).at(name);
  }
  // Returns the function's position in the table of top functions, counted from 1; 0 if it is not in the table. The
  // function with the highest cost has position 1.
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
