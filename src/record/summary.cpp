#include "record/summary.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/saturating_add.h"
#include "base/text/hints.h"
#include "base/text/numbers.h"
#include "profile/coverage.h"
#include "profile/loss.h"

namespace gpuprof::record {
namespace {

using profile::CoverageCount;

constexpr uint64_t kShownCpuNs = 100'000'000;

constexpr size_t kColumns = 100 - std::string_view("gpuprof: ").size();

using Phrases = std::vector<std::string>;

// Without commas, because scripts read the numbers.
std::string counted(uint64_t count, std::string_view singular) {
  std::string text = counted_text(count, singular);
  std::erase(text, ',');
  return text;
}

// Joins phrases into lines of at most kColumns. A longer phrase gets its own line.
void add_lines(const Phrases& phrases, std::vector<std::string>& lines) {
  std::string line;
  for (const std::string& phrase : phrases) {
    if (!line.empty() && line.size() + 2 + phrase.size() > kColumns) {
      lines.push_back(std::exchange(line, {}));
    }
    line += line.empty() ? phrase : ", " + phrase;
  }
  if (!line.empty()) {
    lines.push_back(std::move(line));
  }
}

bool is_estimate(const Totals& t) {
  const uint64_t weighted = t.coverage[CoverageCount::weighted];
  return weighted > 0 &&
         (t.coverage[CoverageCount::between_windows] > 0 || t.coverage[CoverageCount::represented] != weighted);
}

double scale_of(const Estimated& process) {
  return profile::launch_scale(static_cast<double>(process.represented), static_cast<double>(process.weighted));
}

// Scales the numbers of each process, as LaunchScale of analyze/rows/totals.h does.
profile::WorkCoverage estimated_work(const Totals& t) {
  profile::WorkCoverage work;
  std::map<profile::ProcessId, profile::RepresentedLoss::Counts> counts;
  for (const auto& [id, process] : t.estimated) {
    work.recorded = saturating_add(work.recorded, profile::scaled(process.gpu_records, scale_of(process)));
    work.with_stack = saturating_add(work.with_stack, profile::scaled(process.with_stack, scale_of(process)));
    counts[id] = {.matched = static_cast<double>(process.matched),
                  .represented = static_cast<double>(process.represented),
                  .weighted = static_cast<double>(process.weighted)};
  }
  for (const auto& [id, loss] : t.losses) {
    counts[id].lost = static_cast<double>(loss.lost);
    counts[id].without_record = static_cast<double>(loss.without_record);
  }
  profile::RepresentedLoss all;
  for (const auto& [id, process] : counts) {
    all.add(process, index(id) != 0);
  }
  work.lost = all.lost_gpu_work();
  return work;
}

// Also lists launches without GPU work if the reasons do not explain all of them. They lower the coverage in the same
// line, and "lost nothing" beside a coverage below 100% would be a contradiction.
Phrases losses(const SummaryFacts& facts) {
  Phrases phrases;
  for (const auto& [reason, count] : facts.totals.lost) {
    phrases.push_back(fmt::format("{} {}", reason, count));
  }
  if (const uint64_t launches = facts.totals.coverage[CoverageCount::without_record];
      launches > profile::lost_gpu_work(facts.totals.lost, 0) && !facts.counts_only) {
    phrases.push_back("the GPU work of " + counted(launches, "launch"));
  }
  if (phrases.empty()) {
    return {"lost nothing"};
  }
  phrases.front().insert(0, "LOST ");
  return phrases;
}

Phrases incomplete(const SummaryFacts& facts) {
  const CoverageCounts& c = facts.totals.coverage;
  const uint64_t records = facts.totals.gpu_records;
  const double scale = is_estimate(facts.totals)
                           ? profile::launch_scale(static_cast<double>(estimated_work(facts.totals).recorded),
                                                   static_cast<double>(records))
                           : 1;
  Phrases phrases;
  const auto part = [&phrases](uint64_t count, uint64_t of, const char* what) {
    if (count > 0) {
      phrases.push_back(
          fmt::format("{}{} ({}) {}", phrases.empty() ? "incomplete: " : "", count, percent_text_up(count, of), what));
    }
  };
  part(c[CoverageCount::without_record], c[CoverageCount::launches], "launches without GPU work");
  part(profile::scaled(c[CoverageCount::without_stack], scale), profile::scaled(records, scale),
       "GPU records whose stack is missing");
  part(profile::scaled(c[CoverageCount::without_launch], scale), profile::scaled(records, scale),
       "GPU records without a known launch");
  part(profile::scaled(c[CoverageCount::before_attach], scale), profile::scaled(records, scale),
       "GPU records launched before gpuprof was attached");
  part(c[CoverageCount::samples_without_launch], facts.totals.samples, "samples without a known launch");
  return phrases;
}

std::string coverage(const SummaryFacts& facts) {
  const profile::WorkCoverage covered = covered_work(facts);
  if (!covered.any()) {
    return "coverage 0% (no GPU work was recorded)";
  }
  return "coverage " + covered.percent_text();
}

Phrases estimated(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  uint64_t gpu_ns = 0;
  for (const auto& [id, process] : t.estimated) {
    gpu_ns = saturating_add(gpu_ns, profile::scaled(process.gpu_ns, scale_of(process)));
  }
  const uint64_t launches = t.coverage[CoverageCount::launches];
  // Without extrapolated launches, all launches were counted.
  const char* const about = t.coverage[CoverageCount::extrapolated] > 0 ? "about " : "";
  return {"recorded " + counted(launches, "launch") + " of " + about +
              std::to_string(launches + t.coverage[CoverageCount::between_windows]) + " in " +
              counted(facts.windows, "window"),
          "estimate: " + counted(estimated_work(t).recorded, "GPU record"), duration_text(gpu_ns) + " GPU time",
          counted(facts.stacks, "stack") + (facts.stacks_missing ? " (no stack engine)" : "")};
}

Phrases recorded(const SummaryFacts& facts) {
  const Totals& t = facts.totals;
  if (is_estimate(t) && !facts.counts_only) {
    return estimated(facts);
  }
  Phrases phrases = {counted(t.launches, "launch")};
  if (const uint64_t failed = t.coverage[CoverageCount::failed]; failed > 0) {
    phrases.back() += fmt::format(" ({} FAILED)", failed);
  }
  if (facts.counts_only) {
    phrases.back() += " (counted, no GPU times)";
  } else {
    phrases.push_back(counted(t.gpu_records, "GPU record"));
    phrases.push_back(duration_text(t.gpu_ns) + " GPU time");
  }
  if (t.samples > 0) {
    phrases.push_back(counted(t.samples, "sample"));
  }
  phrases.push_back(counted(facts.stacks, "stack") + (facts.stacks_missing ? " (no stack engine)" : ""));
  return phrases;
}

uint64_t overhead_ns(const SummaryFacts& facts) {
  return facts.overhead.per_launch(facts.totals.launches) * facts.totals.launches;
}

Phrases exceeded(const SummaryFacts& facts) {
  if (!facts.duty_cycle || facts.max_overhead <= 0 ||
      static_cast<double>(overhead_ns(facts)) <= facts.max_overhead / 100 * static_cast<double>(facts.wall_ns)) {
    return {};
  }
  constexpr uint64_t kShortNs = 20'000'000'000;  // what was spent above the limit is saved in about this time
  return {fmt::format(
      "overhead {} exceeds --max-overhead {:g}%: {}", percent_text_up(overhead_ns(facts), facts.wall_ns),
      facts.max_overhead,
      facts.wall_ns < kShortNs ? "the run is too short for its first window" : "even its rarest windows cost more")};
}

// The CPU time before and after the recording is left out if it is short.
Phrases costs(const SummaryFacts& facts) {
  Phrases phrases;
  if (facts.overhead.samples > 0) {
    const uint64_t per_launch = facts.overhead.per_launch(facts.totals.launches);
    phrases.push_back(fmt::format("overhead at least {} a launch ({} of the run)", duration_text(per_launch),
                                  percent_text_up(overhead_ns(facts), facts.wall_ns)));
  }
  phrases.push_back("gpuprof itself " + percent_text_up(facts.recorder_cpu_ns, facts.wall_ns) + " of a core");
  if (facts.other_cpu_ns >= kShownCpuNs) {
    phrases.push_back(duration_text(facts.other_cpu_ns) + " of CPU time before and after");
  }
  return phrases;
}

Phrases times(const SummaryFacts& facts) {
  if (!facts.around) {
    return {};
  }
  return {"recorded " + duration_text(facts.recorded_ns), "attaching took " + duration_text(facts.around->attach_ns),
          "detaching took " + duration_text(facts.around->leave_ns)};
}

Phrases kept(const SummaryFacts& facts) {
  if (!facts.kept || facts.kept->gpu_records >= facts.totals.gpu_records) {
    return {};
  }
  Phrases phrases{"the profile has only the last " + duration_text(facts.kept->ns),
                  counted(facts.kept->gpu_records, "GPU record"), duration_text(facts.kept->gpu_ns) + " GPU time"};
  if (const std::vector<std::string>& files = facts.kept->earlier; files.size() == 1) {
    phrases.push_back("an earlier part is in " + files[0]);
  } else if (!files.empty()) {
    phrases.push_back(
        "earlier parts are in " +
        (files.size() == 2 ? files[0] + " and " : std::to_string(files.size()) + " files, " + files[0] + " to ") +
        files.back());
  }
  return phrases;
}

Phrases ending(const SummaryFacts& facts) {
  const bool is_status = facts.target_end.find_first_not_of("0123456789") == std::string::npos;
  return facts.target_end.empty() ? Phrases()
                                  : Phrases{(is_status ? "target: exit status " : "target: ") + facts.target_end};
}

Phrases still_running(const SummaryFacts& facts) {
  constexpr size_t kMostNamed = 2;
  const size_t all = facts.still_running.size();
  if (all == 0) {
    return {};
  }
  std::string text = all == 1 ? "process " : "processes ";
  for (size_t i = 0; i < std::min(all, kMostNamed); ++i) {
    text.append(i == 0 ? "" : i + 1 == all ? " and " : ", ").append(facts.still_running[i]);
  }
  if (all > kMostNamed) {
    text += " and " + std::to_string(all - kMostNamed) + " more";
  }
  return {text + (all == 1 ? " still runs" : " still run"),
          std::string(all == 1 ? "its" : "their") + " later work is not in the profile"};
}

bool saw_nothing(const Totals& totals) {
  return totals.launches == 0 && totals.gpu_records == 0 && totals.samples == 0;
}

std::string empty_profile(const std::string& reason, const SummaryFacts& facts) {
  return reason + ": " + facts.file + " is an empty profile";
}

Summary nothing_seen(const SummaryFacts& facts) {
  if (facts.lacked_descriptors) {
    return {
        true, {empty_profile("gpuprof had too few file descriptors to record the target", facts)}, hints::kMoreFiles};
  }
  if (!facts.totals.lost.empty()) {
    Summary summary;
    summary.is_warning = true;
    summary.hint = facts.unrecorded.empty() ? "" : "not seen here: " + facts.unrecorded;
    Phrases lost = losses(facts);
    lost.front().insert(0, "nothing could be recorded: ");
    lost.push_back(facts.file + " is an empty profile");
    add_lines(lost, summary.lines);
    return summary;
  }
  if (facts.windows == 0 && (facts.used_gpu || facts.counts_only)) {
    return {true,
            {empty_profile("recording was never on", facts)},
            "choose a shorter --delay, or send SIGUSR1 to gpuprof; SIGUSR2 cancels a --delay"};
  }
  if (facts.counts_only) {
    return {true,
            {empty_profile("gpuprof saw no GPU work of the process while recording was on", facts)},
            "functions of OpenCL extensions, such as for command buffers, need gpuprof record -- COMMAND"};
  }
  if (facts.duty_cycle && facts.used_gpu) {
    return {true,
            {empty_profile("no window of --max-overhead had GPU work", facts)},
            "record longer, or without --max-overhead"};
  }
  const bool is_explained = !facts.unrecorded.empty() || !facts.unrecorded_processes.empty();
  const auto why = profile::why_empty({.nvtx_range = facts.nvtx_range,
                                       .outside_range = facts.totals.coverage[CoverageCount::outside_range],
                                       .attached = facts.around.has_value(),
                                       .only_a_window = facts.only_a_window && facts.used_gpu,
                                       .off_records = facts.totals.off_records,
                                       .backends = is_explained ? "" : facts.only_backends});
  if (why) {
    return {true, {empty_profile(why->reason, facts)}, why->hint};
  }
  if (facts.wants_counts && facts.used_gpu) {
    return {true, {empty_profile("--sass-metrics records no GPU times, and counted nothing", facts)}};
  }
  const std::string unseen = facts.unrecorded.empty() ? "" : "not seen here: " + facts.unrecorded;
  if (!facts.unrecorded_processes.empty()) {
    return {true, {empty_profile("nothing was recorded", facts)}, unseen};
  }
  return {true,
          {facts.used_gpu ? "the target launched no GPU work: " + facts.file + " has no GPU times"
                          : empty_profile("the target used no GPU that gpuprof can see", facts)},
          unseen + (unseen.empty() ? "" : "; ") + "gpuprof doctor lists what gpuprof can record"};
}

}  // namespace

Summary summary_of(const SummaryFacts& facts) {
  if (saw_nothing(facts.totals) && facts.counted == 0) {
    Summary summary = nothing_seen(facts);
    add_lines(times(facts), summary.lines);
    add_lines(still_running(facts), summary.lines);
    add_lines(ending(facts), summary.lines);
    return summary;
  }
  Summary summary;
  if (saw_nothing(facts.totals)) {
    add_lines({counted(facts.counted, "count") + " of instructions", "no GPU times"}, summary.lines);
  } else {
    Phrases first = losses(facts);
    if (!facts.stacks_missing) {
      first.insert(first.begin(), coverage(facts));
    }
    add_lines(first, summary.lines);
    add_lines(incomplete(facts), summary.lines);
    add_lines(recorded(facts), summary.lines);
  }
  add_lines(costs(facts), summary.lines);
  add_lines(exceeded(facts), summary.lines);
  add_lines(times(facts), summary.lines);
  add_lines(kept(facts), summary.lines);
  add_lines(still_running(facts), summary.lines);
  Phrases last = ending(facts);
  last.insert(last.begin(), fmt::format("wrote {} ({})", facts.file, bytes_text(facts.file_bytes)));
  add_lines(last, summary.lines);
  return summary;
}

std::string exceeded_line(const SummaryFacts& facts) {
  const Phrases phrases = exceeded(facts);
  return phrases.empty() ? "" : phrases.front();
}

std::string running_line(const SummaryFacts& facts) {
  std::string text;
  for (const std::string& phrase : still_running(facts)) {
    text.append(text.empty() ? "" : ", ").append(phrase);
  }
  return text;
}

std::string python_line(const RefusedPython& refused) {
  if (refused.pid == 0) {
    return "";
  }
  // For Python implementations other than CPython, version and reason are the same text. Print it once.
  const bool named = refused.version == refused.reason;
  return fmt::format("process {} is recorded without Python frames. It reports '{}{}{}{}'{}", refused.pid,
                     named ? "" : "Python ", refused.version, named ? "" : ": ", named ? "" : refused.reason,
                     refused.others ? "; so do other processes" : "");
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
  part(left_out.files, "files that the process which reads them could not read");
  part(left_out.addresses, "addresses not named, because the time limit for looking up names was reached");
  return text.empty() ? text : "some functions or lines have no names because of limits of the recording: " + text;
}

void print_summary(const SummaryFacts& facts) {
  const Summary summary = summary_of(facts);
  for (const std::string& line : summary.lines) {
    if (summary.is_warning && &line == &summary.lines.front()) {
      log::warn(line, summary.hint);  // print it even with -q: a recording without GPU work is rarely intended
    } else {
      log::info(line);
    }
  }
  if (facts.lacked_descriptors && !saw_nothing(facts.totals)) {
    log::warn("gpuprof had too few file descriptors at times, so processes may be missing", hints::kMoreFiles);
  }
  for (const Error& process : facts.unrecorded_processes) {
    log::warn(process.message, process.hint);
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
        fmt::format("gpuprof reached its memory limit, or that for texts of processes, and left out {} stacks, names "
                    "and other details",
                    left_out->second),
        "GPU work and its times are complete; for more detail, record less at a time (--duration, -p, --nvtx-range)");
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
  const profile::WorkCoverage work =
      is_estimate(t) ? estimated_work(t)
                     : profile::WorkCoverage{t.gpu_records, std::min(t.with_stack, t.gpu_records),
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
