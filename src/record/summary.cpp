#include "record/summary.h"

#include <fmt/format.h>

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
  line += facts.stacks_missing ? std::string(" (no stack engine)")
                               : fmt::format(", coverage {:.1f}%", percent(t.with_stack, covered_of));
  line += ", " + losses(t);
  if (facts.overhead.samples > 0) {
    const uint64_t per_launch = facts.overhead.ns / facts.overhead.samples;
    line += fmt::format(", overhead {} a launch ({:.2f}% of the run)", duration(per_launch),
                        percent(per_launch * t.launches, facts.wall_ns));
  }
  line += fmt::format(", gpuprof itself {:.1f}% of a core", percent(facts.recorder_cpu_ns, facts.wall_ns));
  return line + fmt::format(" -> {} ({})", facts.file, size(facts.file_bytes));
}

}  // namespace gpuprof::record
