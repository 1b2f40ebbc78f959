#include "record/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace gpuprof::record {
namespace {

std::string duration(uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns >= 1'000'000'000) {
    return fmt::format("{:.3f} s", value / 1e9);
  }
  if (ns >= 1'000'000) {
    return fmt::format("{:.3f} ms", value / 1e6);
  }
  return ns >= 1000 ? fmt::format("{:.3f} us", value / 1e3) : fmt::format("{} ns", ns);
}

std::string size(uint64_t bytes) {
  return bytes >= 1'000'000 ? fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6)
                            : fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// These stand for GPU work that is not in the profile; all other losses are of something else.
constexpr std::string_view kLostWork[] = {"ring_full", "ring_busy",     "vendor_dropped", "invalid_timestamp",
                                          "no_timing", "out_of_memory", "unfinished",     "malformed"};

std::string losses(const Totals& totals) {
  if (totals.lost.empty()) {
    return "lost nothing";
  }
  std::string text = fmt::format("LOST {}:", totals.lost_in_all());
  for (const auto& [reason, count] : totals.lost) {
    text += fmt::format(" {} {}", reason, count);
  }
  return text;
}

}  // namespace

std::string summary_line(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  if (facts.counts_only && t.launches == 0) {
    return fmt::format("the process launched no GPU work while it was watched: {} is an empty profile", facts.file);
  }
  if (t.launches == 0 && t.gpu_records == 0 && !t.lost.empty()) {
    return fmt::format("nothing could be recorded, {}: {} is an empty profile", losses(t), facts.file);
  }
  if (t.launches == 0 && t.gpu_records == 0) {
    return fmt::format(
        "the target used no GPU that gpuprof can see: {} is an empty profile ('gpuprof doctor' lists "
        "what can be seen)",
        facts.file);
  }
  std::string line = fmt::format("{} launches", t.launches);
  if (facts.counts_only) {
    line += " (counted, no GPU times)";
  } else {
    line += fmt::format(", {} GPU records, {} GPU time", t.gpu_records, duration(t.gpu_ns));
  }
  line += fmt::format(", {} stacks", facts.stacks);
  const uint64_t covered_of = facts.counts_only ? t.launches : t.gpu_records;
  const uint64_t sampled = covered_of - std::min(covered_of, t.unsampled_records);
  line += facts.stacks_missing ? std::string(" (no stack engine)")
                               : fmt::format(", coverage {:.1f}%", percent(t.with_stack, sampled));
  line += ", " + losses(t);
  if (facts.overhead.samples > 0) {
    const uint64_t per_launch = facts.overhead.ns / facts.overhead.samples;
    line += fmt::format(", overhead {} a launch ({:.2f}% of the run)", duration(per_launch),
                        percent(per_launch * t.launches, facts.wall_ns));
  }
  line += fmt::format(", gpuprof itself {:.1f}% of a core", percent(facts.recorder_cpu_ns, facts.wall_ns));
  return line + fmt::format(" -> {} ({})", facts.file, size(facts.file_bytes));
}

std::string trust_line(const SummaryFacts& facts) {
  const CoverageCounts& c = facts.totals.coverage;
  std::string text;
  const auto part = [&text](uint64_t count, uint64_t of, const char* what) {
    if (count > 0) {
      text += fmt::format("{}{} ({:.2f}%) {}", text.empty() ? "" : ", ", count, percent(count, of), what);
    }
  };
  part(c.without_record, c.launches, "launches without GPU work");
  part(c.unsampled, c.launches, "launches without a stack because of --max-overhead");
  part(c.without_stack, facts.totals.gpu_records, "GPU records whose stack is missing");
  part(c.without_launch, facts.totals.gpu_records, "GPU records of no known launch");
  return text.empty() ? text : "not all is known: " + text;
}

std::string python_line(const RefusedPython& refused) {
  if (refused.pid == 0) {
    return "";
  }
  // An implementation that is none of CPython's has its name for both.
  const bool named = refused.version == refused.reason;
  return fmt::format("process {} runs {}{}, whose frames are not followed{}{}{}", refused.pid, named ? "" : "Python ",
                     refused.version, named ? "" : ": ", named ? "" : refused.reason,
                     refused.others ? "; so do others" : "");
}

double coverage_percent(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  if (facts.counts_only) {
    return t.launches == 0 ? 100.0 : percent(std::min(t.with_stack, t.launches), t.launches);
  }
  uint64_t lost = 0;
  for (const std::string_view reason : kLostWork) {
    const auto found = t.lost.find(std::string(reason));
    lost += found == t.lost.end() ? 0 : found->second;
  }
  lost = std::max(lost, t.coverage.without_record);
  const uint64_t explained = std::min(t.gpu_records, t.with_stack + t.unsampled_records);
  return t.gpu_records + lost == 0 ? 100.0 : percent(explained, t.gpu_records + lost);
}

}  // namespace gpuprof::record
