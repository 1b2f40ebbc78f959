#include "record/counted_metrics.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "record/ipc/channel.h"

namespace gpuprof::record {
namespace {

constexpr int kUsage = 2;  // exit code
constexpr std::string_view kPrefix = "smsp__sass_";

struct Word {
  std::string_view word;
  std::array<std::string_view, 2> metrics;
};
constexpr std::array kWords = {
    Word{"memory", {"smsp__sass_sectors_mem_global", "smsp__sass_sectors_mem_global_ideal"}},
    Word{"shared",
         {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal"}},
    Word{"branches", {"smsp__sass_branch_targets_threads_divergent", "smsp__sass_branch_targets_threads_uniform"}},
    Word{"instructions", {"smsp__sass_inst_executed", "smsp__sass_thread_inst_executed"}},
};

bool is_metric(std::string_view text) {
  return text.starts_with(kPrefix) && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

Result<std::string> counted_metrics(const std::vector<std::string>& words) {
  std::vector<std::string_view> metrics;
  const auto add = [&metrics](std::string_view metric) {
    if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) {
      metrics.push_back(metric);
    }
  };
  for (const std::string& text : words) {
    const auto known =
        std::find_if(kWords.begin(), kWords.end(), [&text](const Word& word) { return word.word == text; });
    if (known != kWords.end()) {
      std::for_each(known->metrics.begin(), known->metrics.end(), add);
    } else if (is_metric(text)) {
      add(text);
    } else {
      return Error{"--sass-metrics: '" + text + "' is not a known metric",
                   "use memory, shared, branches, instructions, or a metric that begins with smsp__sass_", kUsage};
    }
  }
  std::string list;
  for (const std::string_view metric : metrics) {
    list.append(list.empty() ? "" : ",").append(metric);
  }
  if (list.size() > kMaxCounted) {
    return Error{"--sass-metrics: too many metrics for one recording", "count some of them in another recording",
                 kUsage};
  }
  return list;
}

}  // namespace gpuprof::record
