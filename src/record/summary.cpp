#include "record/summary.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>

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

// "lost nothing" stands beside a coverage that lost work lowers, so both go by the same count.
std::string losses(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  std::string text;
  for (const auto& [reason, count] : t.lost) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, count);
  }
  if (const uint64_t launches = t.coverage.without_record; launches > 0 && !facts.counts_only) {
    text += fmt::format("{}the GPU work of {} launches", text.empty() ? "" : ", ", launches);
  }
  return text.empty() ? "lost nothing" : "LOST " + text;
}

std::string coverage(const SummaryFacts& facts) {
  if (facts.stacks_missing) {
    return " (no stack engine)";
  }
  const profile::WorkCoverage covered = covered_work(facts);
  const std::string left_out =
      facts.totals.unsampled_records == 0
          ? ""
          : fmt::format(" ({:.2f}% left without a stack by --max-overhead)",
                        percent(facts.totals.unsampled_records, covered.recorded + covered.lost));
  return ", coverage " + profile::coverage_text(covered.percent()) + left_out;
}

std::string ending(const SummaryFacts& facts) {
  return facts.target_end.empty() ? "" : "; target: " + facts.target_end;
}

std::string nothing_seen(const SummaryFacts& facts) {
  if (facts.window_was_closed && facts.used_gpu) {
    return fmt::format(
        "no GPU work was launched while recording was on: {} is an empty profile, though the target does use a GPU's "
        "library{}{}",
        facts.file,
        facts.totals.off_records == 0 ? std::string()
                                      : fmt::format(" ({} GPU records of other times)", facts.totals.off_records),
        ending(facts));
  }
  return fmt::format(
      "the target used no GPU that gpuprof can see: {} is an empty profile ('gpuprof doctor' lists what can be seen){}",
      facts.file, ending(facts));
}

}  // namespace

std::string summary_line(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  if (facts.counts_only && t.launches == 0) {
    return fmt::format("the process launched no GPU work while it was watched: {} is an empty profile{}", facts.file,
                       ending(facts));
  }
  if (t.launches == 0 && t.gpu_records == 0 && !t.lost.empty()) {
    return fmt::format("nothing could be recorded, {}: {} is an empty profile{}", losses(facts), facts.file,
                       ending(facts));
  }
  if (t.launches == 0 && t.gpu_records == 0) {
    return nothing_seen(facts);
  }
  std::string line = fmt::format("{} launches", t.launches);
  if (facts.counts_only) {
    line += " (counted, no GPU times)";
  } else {
    line += fmt::format(", {} GPU records, {} GPU time", t.gpu_records, duration(t.gpu_ns));
  }
  line += fmt::format(", {} stacks{}, {}", facts.stacks, coverage(facts), losses(facts));
  if (facts.overhead.samples > 0) {
    const uint64_t per_launch = facts.overhead.ns / facts.overhead.samples;
    line += fmt::format(", overhead {} a launch ({:.2f}% of the run)", duration(per_launch),
                        percent(per_launch * t.launches, facts.wall_ns));
  }
  line += fmt::format(", gpuprof itself {:.1f}% of a core", percent(facts.recorder_cpu_ns, facts.wall_ns));
  return line + fmt::format(" -> {} ({}){}", facts.file, size(facts.file_bytes), ending(facts));
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

profile::WorkCoverage covered_work(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  if (facts.counts_only) {
    return {t.launches, std::min(t.with_stack, t.launches), 0};
  }
  return {t.gpu_records, std::min(t.with_stack, t.gpu_records),
          profile::lost_gpu_work(t.lost, t.coverage.without_record)};
}

std::string ending_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* name = ::sigabbrev_np(signal);
    return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("signal {} (SIG{})", signal, name);
  }
  return std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace gpuprof::record
