#include "output/report/names.h"

#include <unordered_set>
#include <vector>

#include "analyze/names/distinct_names.h"
#include "output/report/page.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using NameLines = std::vector<analyze::SummaryLine>;

std::vector<std::string_view> works_of(const analyze::Summary& summary) {
  std::vector<std::string_view> names;
  std::unordered_set<std::string_view> seen;
  for (const NameLines* lines :
       {&summary.work, &summary.call_paths, &summary.sampled_work, &summary.sample_reasons, &summary.host_work,
        &summary.calls, &summary.waits, &summary.allocations, &summary.failures, &summary.without_work}) {
    for (const analyze::SummaryLine& line : *lines) {
      if (seen.insert(line.work).second) {
        names.push_back(line.work);
      }
    }
  }
  for (const analyze::KernelStalls& stalls : summary.stalls) {
    if (seen.insert(stalls.kernel).second) {
      names.push_back(stalls.kernel);
    }
  }
  for (const analyze::BlockLine& line : summary.blocks) {
    if (seen.insert(line.kernel).second) {
      names.push_back(line.kernel);
    }
  }
  return names;
}

}  // namespace

Names::Names(const analyze::Summary& summary, const ReportOptions& options) {
  const std::vector<std::string_view> works = works_of(summary);
  std::vector<std::string> whole;
  whole.reserve(works.size());
  for (const std::string_view work : works) {
    whole.push_back(shown_name(shown_text(work)));
  }
  const auto fill = [&works](std::vector<std::string> texts, Texts& to) {
    for (size_t i = 0; i < works.size(); ++i) {
      to.emplace(works[i], std::move(texts[i]));
    }
  };
  if (options.lines != 0) {
    fill(analyze::distinct_kernel_names(whole, width_beside(options.width)), beside_);
  }
  if (options.full) {
    analyze::number_equal_texts(whole, std::string::npos);
    fill(std::move(whole), below_);
  } else {
    fill(analyze::distinct_kernel_names(whole, width_below(options.width)), below_);
  }
  for (const analyze::FunctionLine& line : summary.functions) {
    functions_.try_emplace(line.name, functions_.size() + 1);
  }
}

}  // namespace gpuprof::output
