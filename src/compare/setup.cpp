#include "compare/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyze/merge/recordings.h"
#include "analyze/subsets/subset_meta.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"

namespace gpuprof::compare {

std::vector<KnownDriver> known_drivers(std::span<const RunFacts* const> runs) {
  std::vector<KnownDriver> drivers;
  for (const RunFacts* run : runs) {
    const bool told = std::any_of(drivers.begin(), drivers.end(),
                                  [run](const KnownDriver& known) { return known.name == run->driver; });
    if (!run->driver.empty() && !told) {
      drivers.push_back({.name = run->driver, .run = run});
    }
  }
  return drivers;
}

std::vector<std::string> recording_differences(std::span<const RunFacts* const> runs) {
  std::vector<std::string> differences;
  // A profile without the id of a recording was made before the META keys below existed.
  const auto is_known = [](const RunFacts& run) {
    return run.info.meta.contains(std::string(analyze::kRecordingKey)) ||
           run.info.meta.contains(std::string(analyze::kRecordingPartKey));
  };
  // Returns one run with the property and one without it; null if all runs are alike.
  const auto differ = [&](auto value) {
    const auto with = std::find_if(runs.begin(), runs.end(), [&](const RunFacts* run) { return value(*run); });
    const auto without =
        std::find_if(runs.begin(), runs.end(), [&](const RunFacts* run) { return !value(*run) && is_known(*run); });
    return with == runs.end() || without == runs.end() ? std::pair<const RunFacts*, const RunFacts*>()
                                                       : std::pair(*with, *without);
  };
  if (const auto [with, without] = differ(
          [](const RunFacts& run) { return run.info.samples > 0 || run.info.meta.count("recording.samples") > 0; });
      with != nullptr) {
    differences.push_back(escaped(with->file) + " was recorded with samples of GPU code and " + escaped(without->file) +
                          " without, and sampling changes the times of kernels");
  }
  if (const auto [with, without] = differ([](const RunFacts& run) { return run.info.is_estimate(); });
      with != nullptr) {
    differences.push_back(escaped(with->file) + " was recorded only in windows (--max-overhead) and " +
                          escaped(without->file) + " without that option, and estimates vary more than times");
  }
  const auto has_stacks = [](const RunFacts& run) {
    const auto [begin, end] = run.info.meta.equal_range("stack_engine");
    return std::any_of(begin, end, [](const auto& engine) { return engine.second != "none"; });
  };
  if (const auto [with, without] = differ(has_stacks); with != nullptr) {
    differences.push_back(escaped(with->file) + " was recorded with CPU stacks and " + escaped(without->file) +
                          " without, so call paths cannot be compared");
  }
  if (!runs.empty() && runs.front()->measure != analyze::Measure::gpu) {
    if (const auto [with, without] = differ([](const RunFacts& run) { return run.info.meta.contains("off_cpu.lost"); });
        with != nullptr) {
      differences.push_back(escaped(with->file) + " was recorded with --cpu=bpf and " + escaped(without->file) +
                            " without, and polls find other causes than BPF");
    }
  }
  const auto add_if_different = [&](std::string (*limit_of)(const analyze::Meta&), const char* all_work) {
    const auto limit = [&](const RunFacts* run) { return limit_of(run->info.meta); };
    const auto other =
        std::find_if(runs.begin(), runs.end(), [&](const RunFacts* run) { return limit(run) != limit(runs.front()); });
    if (other == runs.end()) {
      return;
    }
    const auto work_of = [&](const RunFacts* run) {
      return escaped(run->file) + " has " + (limit(run).empty() ? all_work : "only the work of " + limit(run));
    };
    differences.push_back(work_of(runs.front()) + ", and " + work_of(*other));
  };
  add_if_different(analyze::recorded_range, "the work outside of NVTX ranges, too");
  add_if_different(analyze::recorded_backends, "the work of all backends");
  const auto is_window = [](const RunFacts& run) { return !analyze::recording_window(run.info.meta).empty(); };
  // Other windows end when the program ends, so a slower program has a longer window.
  const auto has_chosen_end = [](const RunFacts* run) {
    const std::string window = analyze::recording_window(run->info.meta);
    return window.starts_with("-p") || window.find("--duration") != std::string::npos;
  };
  if (const auto [part, other] = differ(is_window); part != nullptr) {
    differences.push_back(escaped(part->file) + " is only a part of a program's run (" +
                          analyze::recording_window(part->info.meta) + ") and " + escaped(other->file) +
                          " was recorded without such a limit");
  } else if (std::all_of(runs.begin(), runs.end(), has_chosen_end) && !runs.empty()) {
    const auto [shortest, longest] = std::minmax_element(
        runs.begin(), runs.end(), [](const RunFacts* a, const RunFacts* b) { return a->window_ns < b->window_ns; });
    if ((*shortest)->window_ns > 0 && (*shortest)->window_ns < (*longest)->window_ns - (*longest)->window_ns / 20) {
      differences.push_back("the recordings have different lengths: " + duration_text((*shortest)->window_ns) + " (" +
                            escaped((*shortest)->file) + ") and " + duration_text((*longest)->window_ns) + " (" +
                            escaped((*longest)->file) + "), so only rates can be compared, not totals");
    }
  }
  return differences;
}

std::vector<std::string> failure_differences(std::span<const RunFacts* const> old_runs,
                                             std::span<const RunFacts* const> new_runs, double least_percent) {
  std::vector<std::string> differences;
  for (const auto& [side, others] : {std::pair(old_runs, new_runs), std::pair(new_runs, old_runs)}) {
    uint64_t launches = 0;
    uint64_t failed = 0;
    for (const RunFacts* other : others) {
      launches = saturating_add(launches, other->launches);
      failed = saturating_add(failed, other->failed_launches);
    }
    for (const RunFacts* run : side) {
      if (run->launches == 0 || launches == 0) {
        continue;
      }
      const double percent = 100 * static_cast<double>(run->failed_launches) / static_cast<double>(run->launches);
      const double others_percent = 100 * static_cast<double>(failed) / static_cast<double>(launches);
      if (percent - others_percent > least_percent) {
        differences.push_back(fmt::format("{}: {} of its launches failed, but {} of the other side's",
                                          escaped(run->file), percent_text_up(run->failed_launches, run->launches),
                                          percent_text_up(failed, launches)));
      }
    }
  }
  return differences;
}

bool has_failed(const RunFacts& run) {
  return !run.exit_status.empty() && run.exit_status != "0" && !run.exit_status.starts_with("still running");
}

}  // namespace gpuprof::compare
