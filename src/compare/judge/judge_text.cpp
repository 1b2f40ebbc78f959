#include "compare/judge/judge_text.h"

#include <cmath>
#include <cstdio>

#include "base/text/numbers.h"
#include "base/text/utf8.h"

namespace gpuprof::compare {
namespace {

std::string with_format(const char* format, double value) {
  char text[64];
  static_cast<void>(std::snprintf(text, sizeof(text), format, value));
  return text;
}

// `size` is not negative. `sign` is written directly before the digits.
std::string percent_text(double size, const std::string& sign) {
  constexpr double kMost = 1e5;
  if (!std::isfinite(size)) {
    return "not known";
  }
  const char* format = size < 0.095 ? "%.2f%%" : size < 99.5 ? "%.1f%%" : "%.0f%%";
  return size > kMost ? "over " + sign + "100000%" : sign + with_format(format, size);
}

}  // namespace

std::string plain_percent(double percent) {
  return percent_text(percent, "");
}

std::string signed_percent(double percent) {
  return percent_text(std::abs(percent), std::signbit(percent) ? "-" : "+");
}

std::string few_kernels_text(size_t kernels) {
  return counted_text(kernels, "kernel").append(" ").append(is_or_are(kernels)) +
         " too few for common statistics: each is judged by its own runs alone (Welch's test), and a change "
         "common to all kernels is not removed";
}

std::string unequal_variances_text() {
  return "one side's runs vary at least twice as much as the other's: each kernel is judged by its own runs (Welch's "
         "test)";
}

std::string only_renamed_text() {
  return "no kernel has the same name on both sides: kernels with similar names or the same callers were compared as "
         "renamed";
}

std::string geometric_means_text() {
  return "percentages compare geometric means, in which one slow run counts less than in the mean times: so the two "
         "differ here";
}

std::string few_runs_for_noise_text() {
  return "the noise is unknown: --self needs at least " + std::to_string(kLeastRunsForNoise) + " runs, 2 for each half";
}

std::string only_in_time_text(const Finding& finding) {
  return "slower in time (" + signed_percent(finding.change_percent) + "), not in GPU cycles (" +
         signed_percent(finding.cycles_percent.value_or(0)) + "): the clocks of the two sides differ";
}

std::string only_in_cycles_text(const Finding& finding) {
  return "slower in GPU cycles (" + signed_percent(finding.cycles_percent.value_or(0)) + "), not in time (" +
         signed_percent(finding.change_percent) + "): the new side's clocks were higher";
}

std::string excused_text(const Thresholds& thresholds, const Threshold& entry) {
  return escaped(thresholds.file) + ":" + std::to_string(entry.line) + ": up to " + with_format("%g%%", entry.percent) +
         (entry.expires.empty() ? "" : " until " + entry.expires) + ": " + escaped(entry.reason);
}

std::string most_slower_text(double percent, size_t kernels, size_t apart) {
  const std::string all = std::to_string(kernels);
  if (apart == 0) {
    return "all kernels may be slower: the common change of " + all + " kernels is " + signed_percent(percent) +
           ", caused by the clocks or by the program";
  }
  return "most kernels may be slower: the common change of " + all + " kernels is " + signed_percent(percent) +
         ", and " + std::to_string(apart) + " of them did not change with the others";
}

std::string drift_text(const Finding& total) {
  return "the GPU time of the second half of the runs differs from the first half by " +
         signed_percent(total.change_percent) + ": the machine may be warming up or busy";
}

std::string not_seen_text(const std::string& name, const Finding& finding, double percent, size_t needed,
                          bool is_tested) {
  return "a slowdown of " + with_format("%.3g%%", percent) + " of " + escaped(name) +
         " is possible, but not proven: the 95% interval of the change is " + signed_percent(finding.low_percent) +
         " to " + signed_percent(finding.high_percent) +
         (finding.low_percent > 0 && is_tested ? ", and a regression must pass a stricter test" : "") +
         (needed == 0 ? ""
                      : "; about " + std::to_string(needed) + " old and " + counted_text(needed, "new run") +
                            " would be enough");
}

}  // namespace gpuprof::compare
