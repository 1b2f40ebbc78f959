#include "profile/coverage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/saturating_add.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "profile/loss.h"

namespace gpuprof::profile {
namespace {

constexpr std::array<std::string_view, kCoverageCounts> kWords = {
    "launches",        "matched",       "captured",       "failed",          "without_record",
    "unsampled",       "without_stack", "without_launch", "before_attach",   "samples_without_launch",
    "samples_foreign", "outside_range", "stack_whole",    "stack_truncated", "stack_no_python",
    "between_windows", "represented",   "weighted",       "extrapolated"};

// An unknown reason counts as a loss of work.
Missing missing_by(std::string_view reason) {
  const std::optional<LossReason> known = loss_reason_of(reason);
  return known ? missing(*known) : Missing::work;
}

uint64_t sum_of(const std::map<std::string, uint64_t>& losses, Missing what) {
  uint64_t lost = 0;
  for (const auto& [reason, count] : losses) {
    lost += missing_by(reason) == what ? count : 0;
  }
  return lost;
}

uint64_t rounded(long double value) {
  constexpr long double kMost = 9e18L;  // fits 64 bits
  return static_cast<uint64_t>(std::llroundl(std::min(value, kMost)));
}

}  // namespace

std::string_view word(CoverageCount what) {
  return kWords.at(static_cast<size_t>(what));
}

double WorkCoverage::percent() const {
  if (!any()) {
    return 0;
  }
  return std::min(100.0,
                  100 * static_cast<double>(with_stack) / (static_cast<double>(recorded) + static_cast<double>(lost)));
}

std::string WorkCoverage::percent_text() const {
  return percent_text_down(with_stack, all());
}

uint64_t WorkCoverage::all() const {
  return saturating_add(recorded, lost);
}

uint64_t lost_gpu_work(const std::map<std::string, uint64_t>& losses, uint64_t launches_without_record) {
  return std::max(sum_of(losses, Missing::work), launches_without_record);
}

bool is_lost_work(std::string_view reason) {
  return missing_by(reason) == Missing::work;
}

double launch_scale(double represented, double weighted) {
  return weighted > 0 ? represented / weighted : 1;
}

uint64_t scaled(uint64_t value, double factor) {
  return rounded(static_cast<long double>(value) * factor);  // a double has fewer digits than the value
}

void RepresentedLoss::add(const Counts& process, bool has_process) {
  const bool is_scaled = process.weighted > 0 && process.matched > 0;
  const double factor = has_process && is_scaled ? process.represented / process.matched : 1;
  Counts& sum = has_process ? sum_ : elsewhere_;
  sum.lost += process.lost * factor;
  sum.without_record += process.without_record * factor;
  sum_.matched += process.matched;
  sum_.represented += is_scaled ? process.represented : process.matched;
}

uint64_t RepresentedLoss::lost_gpu_work() const {
  const double mean = sum_.matched > 0 ? sum_.represented / sum_.matched : 1;
  return rounded(std::max(sum_.lost + elsewhere_.lost * mean, sum_.without_record + elsewhere_.without_record * mean));
}

uint64_t lost_samples(const std::map<std::string, uint64_t>& losses) {
  return sum_of(losses, Missing::samples);
}

std::optional<EmptyReason> why_empty(const EmptyFacts& facts) {
  if (facts.outside_range > 0) {
    if (facts.attached) {
      return EmptyReason{"gpuprof saw no NVTX range " + escaped(facts.nvtx_range) + " in the attached process (" +
                             counted_text(facts.outside_range, "GPU record") + " outside of it)",
                         "only a program that gpuprof started reports NVTX ranges to it: gpuprof record "
                         "--nvtx-range NAME -- COMMAND; or leave --nvtx-range out"};
    }
    return EmptyReason{"the target launched no GPU work inside of --nvtx-range " + escaped(facts.nvtx_range),
                       "check the name and the domain of the range (" +
                           counted_text(facts.outside_range, "GPU record") +
                           " outside of it); gpuprof sees NVTX ranges of CUDA programs only"};
  }
  if (facts.only_a_window) {
    return EmptyReason{"gpuprof saw no GPU work of the target while recording was on",
                       "record at another time, or longer" +
                           (facts.off_records == 0
                                ? std::string()
                                : " (" + counted_text(facts.off_records, "GPU record") + " while recording was off)")};
  }
  if (!facts.backends.empty()) {
    return EmptyReason{"the target launched no GPU work that --backend " + escaped(facts.backends) + " records",
                       "leave --backend out to record all GPU work"};
  }
  return std::nullopt;
}

}  // namespace gpuprof::profile
