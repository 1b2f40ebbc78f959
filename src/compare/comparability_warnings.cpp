#include "compare/comparability_warnings.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "analyze/subsets/subset_meta.h"
#include "base/text/utf8.h"
#include "compare/setup.h"

namespace gpuprof::compare {
namespace {

using Facts = std::span<const RunFacts* const>;

// Minimum difference between the percentages of failed launches that is reported.
constexpr double kMinFailureDifference = 0.1;

std::string quoted(const std::string& text) {
  return text.empty() ? "unknown" : "'" + escaped(text) + "'";
}

std::string listed(const std::set<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    all.append(all.empty() ? "" : ", ").append(quoted(text));
  }
  return all;
}

// Warns of a difference only if both sides are known.
void warn_if_different(const char* what, const std::set<std::string>& before, const std::set<std::string>& after,
                       std::vector<std::string>& warnings) {
  if (!before.empty() && !after.empty() && before != after) {
    warnings.push_back(std::string(what) + " differ: " + listed(before) + " -> " + listed(after) +
                       ", which may explain all of the difference");
  }
}

std::set<std::string> device_names_of(Facts runs) {
  std::set<std::string> all;
  for (const RunFacts* run : runs) {
    std::string text;
    for (const std::string& device : run->devices) {
      text.append(text.empty() ? "" : " + ").append(device);
    }
    if (!text.empty()) {
      all.insert(std::move(text));
    }
  }
  return all;
}

std::set<std::string> drivers_of(Facts runs) {
  std::set<std::string> all;
  for (KnownDriver& driver : known_drivers(runs)) {
    all.insert(std::move(driver.name));
  }
  return all;
}

void warn_about_gaps(const RunFacts& run, std::vector<std::string>& warnings) {
  const std::string file = escaped(run.file) + ": ";
  if (!run.info.complete) {
    warnings.push_back(file + "the profile is cut short: it has no END record");
  }
  if (const std::string part = analyze::part_warning(run.info.meta); !part.empty()) {
    warnings.push_back(file + part);
  }
  if (run.info.is_estimate()) {
    warnings.push_back(file + "its " + run.info.estimate_text());
  }
  if (run.info.covered.lost > 0) {
    warnings.push_back(file + run.lost_text() + " of its GPU work was lost");
  }
  if (run.info.skipped_bad > 0) {
    warnings.push_back(file + "bad lines skipped: " + std::to_string(run.info.skipped_bad));
  }
  if (const std::string text = dropped_samples_text(run); !text.empty()) {
    warnings.push_back(file + text);
  }
  if (has_failed(run)) {
    warnings.push_back(file + "the recorded program ended with " + escaped(run.exit_status));
  }
  for (const std::string& warning : run.info.warnings) {
    warnings.push_back(file + warning);
  }
}

std::string_view unit_name(const Run& run) {
  if (run.timed) {
    return "GPU times";
  }
  return run.facts.info.kind == analyze::ProfileKind::stall_samples ? "counts of stall samples" : "counts of launches";
}

}  // namespace

Status check_comparable(std::span<const Run> old_runs, std::span<const Run> new_runs) {
  const Run* first = nullptr;
  for (const std::span<const Run> side : {old_runs, new_runs}) {
    for (const Run& run : side) {
      if (run.total.ns == 0 && run.total.count == 0) {
        return nothing_measured(run.facts);
      }
      first = first == nullptr ? &run : first;
      if (unit_name(run) != unit_name(*first)) {
        return Error{"the profiles measure different things: " + escaped(first->facts.file) + " has " +
                         std::string(unit_name(*first)) + ", " + escaped(run.facts.file) + " has " +
                         std::string(unit_name(run)),
                     "record both in the same way (record -p without the injection library only counts launches)"};
      }
    }
  }
  return {};
}

Status check_related(const Comparison& all) {
  if (!all.runs.empty() && all.runs.front()->measure != analyze::Measure::gpu) {
    return {};  // CPU threads of any two programs compute and sleep
  }
  // Ignore copies unless there are only copies: different programs have copies with the same names.
  const bool all_copies = std::all_of(all.kernels.begin(), all.kernels.end(),
                                      [](const KernelLine& kernel) { return kernel.name.starts_with('['); });
  const bool related = std::any_of(all.kernels.begin(), all.kernels.end(), [&](const KernelLine& kernel) {
    return is_on_both_sides(kernel.change) && (all_copies || !kernel.name.starts_with('['));
  });
  if (related || all.runs.empty() || all.old_runs == 0 || all.old_runs == all.runs.size()) {
    return {};
  }
  return Error{"these are two different programs: no kernel of " + escaped(all.runs.front()->file) + " (" +
                   quoted(all.runs.front()->command) + ") is in " + escaped(all.runs[all.old_runs]->file) + " (" +
                   quoted(all.runs[all.old_runs]->command) + "), not even under another name",
               "`gpuprof report FILE` shows what is in each"};
}

std::string dropped_samples_text(const RunFacts& run) {
  return run.info.samples == 0 || run.info.samples_are_reliable()
             ? ""
             : "too many of its stall samples were dropped to say what kernels waited for";
}

std::vector<std::string> comparability_warnings(Facts old_runs, Facts new_runs) {
  std::vector<std::string> warnings;
  warn_if_different("the devices", device_names_of(old_runs), device_names_of(new_runs), warnings);
  warn_if_different("the drivers", drivers_of(old_runs), drivers_of(new_runs), warnings);
  std::vector<const RunFacts*> all(old_runs.begin(), old_runs.end());
  all.insert(all.end(), new_runs.begin(), new_runs.end());
  for (std::string& difference : recording_differences(all)) {
    warnings.push_back(std::move(difference));
  }
  for (std::string& difference : failure_differences(old_runs, new_runs, kMinFailureDifference)) {
    warnings.push_back(std::move(difference));
  }
  for (const Facts side : {old_runs, new_runs}) {
    for (const RunFacts* run : side) {
      warn_about_gaps(*run, warnings);
    }
  }
  return warnings;
}

}  // namespace gpuprof::compare
