#include "record/summary.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <string_view>

#include "base/log.h"
#include "base/text/numbers.h"
#include "profile/loss.h"

namespace gpuprof::record {
namespace {

using profile::CoverageCount;

// Includes launches without GPU work. They lower the coverage on the same line, so "lost nothing" would contradict it.
std::string losses(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  std::string text;
  for (const auto& [reason, count] : t.lost) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, count);
  }
  if (const uint64_t launches = t.coverage[CoverageCount::without_record]; launches > 0 && !facts.counts_only) {
    text += fmt::format("{}the GPU work of {} launches", text.empty() ? "" : ", ", launches);
  }
  return text.empty() ? "lost nothing" : "LOST " + text;
}

std::string coverage(const SummaryFacts& facts) {
  if (facts.stacks_missing) {
    return " (no stack engine)";
  }
  const profile::WorkCoverage covered = covered_work(facts);
  const std::string left_out = facts.totals.unsampled_records == 0
                                   ? ""
                                   : fmt::format(" ({} left without a stack by --max-overhead)",
                                                 percent_text(facts.totals.unsampled_records, covered.all()));
  return ", coverage " + covered.percent_text() + left_out;
}

std::string ending(const SummaryFacts& facts) {
  const bool is_status = facts.target_end.find_first_not_of("0123456789") == std::string::npos;
  return facts.target_end.empty() ? "" : (is_status ? "; target: exit status " : "; target: ") + facts.target_end;
}

bool saw_nothing(const Totals& totals) {
  return totals.launches == 0 && totals.gpu_records == 0 && totals.samples == 0;
}

std::string nothing_seen(const SummaryFacts& facts) {
  if (facts.only_a_window && facts.used_gpu) {
    return fmt::format(
        "the target launched no GPU work while recording was on, although it has loaded a GPU library: {} is an empty "
        "profile{}{}",
        facts.file,
        facts.totals.off_records == 0
            ? std::string()
            : fmt::format(" ({} GPU records while recording was off)", facts.totals.off_records),
        ending(facts));
  }
  if (!facts.unrecorded_processes.empty()) {
    return fmt::format("nothing was recorded: {} is an empty profile{}", facts.file, ending(facts));
  }
  return fmt::format(
      "the target used no GPU that gpuprof can see: {} is an empty profile ({}'gpuprof doctor' lists what can be "
      "seen){}",
      facts.file, facts.unrecorded.empty() ? "" : "not seen here: " + facts.unrecorded + "; ", ending(facts));
}

}  // namespace

std::string summary_line(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  if (facts.counts_only && t.launches == 0) {
    return fmt::format("the process launched no GPU work while it was watched: {} is an empty profile{}", facts.file,
                       ending(facts));
  }
  if (saw_nothing(t) && !t.lost.empty()) {
    return fmt::format("nothing could be recorded, {}: {} is an empty profile{}", losses(facts), facts.file,
                       ending(facts));
  }
  if (saw_nothing(t) && facts.counted > 0) {
    return fmt::format("{} counts of instructions, no GPU times, gpuprof itself {} of a core -> {} ({}){}",
                       facts.counted, percent_text(facts.recorder_cpu_ns, facts.wall_ns), facts.file,
                       bytes_text(facts.file_bytes), ending(facts));
  }
  if (saw_nothing(t)) {
    return nothing_seen(facts);
  }
  std::string line = fmt::format("{} launches", t.launches);
  if (facts.counts_only) {
    line += " (counted, no GPU times)";
  } else {
    line += fmt::format(", {} GPU records, {} GPU time", t.gpu_records, duration_text(t.gpu_ns));
  }
  if (t.samples > 0) {
    line += fmt::format(", {} samples", t.samples);
  }
  line += fmt::format(", {} stacks{}, {}", facts.stacks, coverage(facts), losses(facts));
  if (facts.overhead.samples > 0) {
    const uint64_t per_launch = facts.overhead.ns / facts.overhead.samples;
    line += fmt::format(", overhead {} a launch ({} of the run)", duration_text(per_launch),
                        percent_text(per_launch * t.launches, facts.wall_ns));
  }
  line += fmt::format(", gpuprof itself {} of a core", percent_text(facts.recorder_cpu_ns, facts.wall_ns));
  return line + fmt::format(" -> {} ({}){}", facts.file, bytes_text(facts.file_bytes), ending(facts));
}

std::string trust_line(const SummaryFacts& facts) {
  const CoverageCounts& c = facts.totals.coverage;
  std::string text;
  const auto part = [&text](uint64_t count, uint64_t of, const char* what) {
    if (count > 0) {
      text += fmt::format("{}{} ({}) {}", text.empty() ? "" : ", ", count, percent_text(count, of), what);
    }
  };
  part(c[CoverageCount::without_record], c[CoverageCount::launches], "launches without GPU work");
  part(c[CoverageCount::unsampled], c[CoverageCount::launches], "launches without a stack because of --max-overhead");
  part(c[CoverageCount::without_stack], facts.totals.gpu_records, "GPU records whose stack is missing");
  part(c[CoverageCount::without_launch], facts.totals.gpu_records, "GPU records without a known launch");
  part(c[CoverageCount::samples_without_launch], facts.totals.samples, "samples without a known launch");
  return text.empty() ? text : "incomplete: " + text;
}

std::string python_line(const RefusedPython& refused) {
  if (refused.pid == 0) {
    return "";
  }
  // For Python implementations other than CPython, version and reason are the same text, which is printed once.
  const bool named = refused.version == refused.reason;
  return fmt::format("process {} is recorded without Python frames, because it runs {}{}{}{}{}", refused.pid,
                     named ? "" : "Python ", refused.version, named ? "" : ": ", named ? "" : refused.reason,
                     refused.others ? "; other processes, too" : "");
}

std::string left_out_line(const symbolize::ReadingBudget::LeftOut& left_out) {
  std::string text;
  const auto part = [&text](uint64_t count, const char* what) {
    if (count > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    }
  };
  part(left_out.perf_maps, "perf maps cut short");
  part(left_out.debug_links, "debug files too large to be checked against their program");
  part(left_out.debug_infos, "files with too much debug information");
  part(left_out.symbol_tables, "symbol tables cut short");
  part(left_out.downloads, "files not requested from debuginfod");
  part(left_out.addresses, "addresses not named, because the time limit for looking up names was reached");
  return text.empty() ? text : "some functions or lines have no names because of limits of the recording: " + text;
}

void print_summary(const SummaryFacts& facts, bool budget_exceeded) {
  const std::string line = summary_line(facts);
  if (saw_nothing(facts.totals) && facts.counted == 0) {
    log::warn(line);  // also with -q: a recording without GPU work is rarely intended
  } else {
    log::info(line);
  }
  for (const Error& process : facts.unrecorded_processes) {
    log::warn(process.message, process.hint);
  }
  if (const std::string text = trust_line(facts); !text.empty()) {
    log::info(text);
  }
  if (const std::string text = python_line(facts.totals.refused_python); !text.empty()) {
    log::warn(text);
  }
  if (const std::string text = left_out_line(facts.left_out); !text.empty()) {
    log::warn(text);
  }
  if (const auto left_out = facts.totals.lost.find(std::string(profile::word(profile::LossReason::memory_limit)));
      left_out != facts.totals.lost.end()) {
    log::warn(
        fmt::format("gpuprof reached its memory limit and left out {} stacks, names and other details",
                    left_out->second),
        "GPU work and its times are complete; for more detail, record less at a time (--duration, -p, --nvtx-range)");
  }
  if (budget_exceeded) {
    log::warn("even with the fewest stacks, recording cost more than --max-overhead allows");
  }
}

Error unwritten(const SummaryFacts& facts, Error error) {
  const std::string kept = facts.file_bytes == 0
                               ? "nothing of it is kept"
                               : fmt::format("its first {} bytes are kept, the rest is lost", facts.file_bytes);
  error.message = fmt::format("{}: {}; {}", facts.file, error.message, kept);
  return error;
}

profile::WorkCoverage covered_work(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  if (facts.counts_only) {
    return {t.launches, std::min(t.with_stack, t.launches), 0};
  }
  const profile::WorkCoverage work{t.gpu_records, std::min(t.with_stack, t.gpu_records),
                                   profile::lost_gpu_work(t.lost, t.coverage[CoverageCount::without_record])};
  return work.any() ? work
                    : profile::WorkCoverage{t.samples, std::min(t.samples_with_stack, t.samples),
                                            profile::lost_samples(t.lost)};
}

std::string target_end(std::optional<int> wait_status, bool ended) {
  if (!wait_status) {
    return ended ? "ended, its status is not known" : "still running";
  }
  if (WIFSIGNALED(*wait_status)) {
    const int signal = WTERMSIG(*wait_status);
    const char* name = ::sigabbrev_np(signal);
    return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("signal {} (SIG{})", signal, name);
  }
  return std::to_string(WEXITSTATUS(*wait_status));
}

}  // namespace gpuprof::record
