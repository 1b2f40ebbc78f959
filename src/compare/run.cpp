#include "compare/run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/names/labels.h"
#include "analyze/paths/extrapolation.h"
#include "analyze/paths/fold.h"
#include "analyze/paths/functions.h"
#include "analyze/paths/work_paths.h"
#include "analyze/rows/no_work.h"
#include "analyze/rows/totals.h"
#include "base/hash.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"

namespace gpuprof::compare {
namespace {

namespace p = gpuprof::profile;
using analyze::Aggregate;
using analyze::Measure;
using analyze::ProfileKind;

constexpr std::string_view kTruncated = "[truncated]";

// Returns all values of the key, sorted: a merged profile has the values of all ranks, and a run may have several
// drivers.
std::set<std::string> meta_values(const analyze::ProfileInfo& info, const char* key) {
  std::set<std::string> values;
  const auto [begin, end] = info.meta.equal_range(key);
  std::transform(begin, end, std::inserter(values, values.end()), [](const auto& meta) { return meta.second; });
  return values;
}

std::string joined(const std::set<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    text.append(text.empty() ? "" : ", ").append(value);
  }
  return text;
}

std::string meta_text(const analyze::ProfileInfo& info, const char* key) {
  return joined(meta_values(info, key));
}

// Returns "0" if every rank whose exit status is known succeeded; otherwise the exit statuses of the failed ranks.
std::string exit_status_of(const analyze::ProfileInfo& info) {
  std::set<std::string> values = meta_values(info, "target.exit_status");
  if (values.size() > 1) {
    values.erase("0");
  }
  return joined(values);
}

// Parses META gpu.sm_clock_mhz.<device> = "samples mean min max". Ignores unreadable values, and clocks that differ
// between ranks: device 0 is a different device in each rank.
std::map<std::string, Clock> clocks_of(const analyze::ProfileInfo& info) {
  constexpr std::string_view kPrefix = "gpu.sm_clock_mhz.";
  std::map<std::string, Clock> clocks;
  auto meta = info.meta.lower_bound(std::string(kPrefix));
  while (meta != info.meta.end() && meta->first.starts_with(kPrefix)) {
    const auto& [key, text] = *meta;
    const auto next = info.meta.upper_bound(key);
    unsigned long long samples = 0;
    Clock clock;
    const int read =
        std::sscanf(text.c_str(), "%llu %lf %lf %lf", &samples, &clock.mean_mhz, &clock.min_mhz, &clock.max_mhz);
    const bool agreed = std::all_of(meta, next, [&first = text](const auto& other) { return other.second == first; });
    if (agreed && read == 4 && samples > 0 && clock.mean_mhz > 0) {
      clock.samples = samples;
      clocks[key.substr(kPrefix.size())] = clock;
    }
    meta = next;
  }
  return clocks;
}

std::vector<std::string> devices_of(const Aggregate& rows) {
  std::set<uint32_t> used;
  for (const analyze::Row& row : rows.rows) {
    used.insert(index(rows.work(row).device));
  }
  for (const analyze::SampleRow& row : rows.samples) {
    used.insert(index(rows.work(row).device));
  }
  std::vector<std::string> names;
  for (const p::Device& device : rows.tables.devices()) {
    if (used.contains(index(device.id))) {
      names.emplace_back(rows.tables.text(device.name));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

RunFacts facts_of(const Aggregate& rows, std::string file, Measure measure) {
  RunFacts facts;
  facts.measure = measure;
  facts.file = std::move(file);
  facts.info = rows.info;
  facts.devices = devices_of(rows);
  facts.driver = meta_text(rows.info, "gpu.driver");
  facts.command = meta_text(rows.info, "command");
  facts.host = meta_text(rows.info, "host");
  facts.commit = meta_text(rows.info, "source.commit");
  facts.exit_status = exit_status_of(rows.info);
  facts.clocks = clocks_of(rows.info);
  facts.window_ns = rows.info.is_estimate() ? 0 : rows.window_ns;  // the numbers are those of a longer time
  facts.launches = rows.info.counted(p::CoverageCount::launches);
  facts.failed_launches = rows.info.counted(p::CoverageCount::failed);
  return facts;
}

class RunBuilder {
 public:
  RunBuilder(const Aggregate& rows, const analyze::StackOptions& stacks, size_t most_frames, Run& run)
      : most_frames_(most_frames),
        rows_(rows),
        tables_(rows.tables),
        paths_(rows.tables, stacks),
        extrapolation_(rows),
        run_(run) {}

  void build() {
    if (run_.facts.measure == Measure::gpu) {
      add_gpu_work();
    } else if (run_.facts.measure == Measure::idle) {
      add_idle();
    } else {
      add_host_times(analyze::host_op(run_.facts.measure).value());
    }
    add_functions();
    if (run_.facts.measure == Measure::gpu) {
      add_durations();
      add_stalls();
    }
    if (cut_paths_ > 0) {
      run_.facts.info.warnings.push_back(
          "the call paths have too many frames for a complete comparison: " + counted_text(cut_paths_, "path") +
          " cut to the innermost frames, at most " + std::to_string(kCutPathFrames));
    }
  }

 private:
  void add_gpu_work() {
    const ProfileKind kind = rows_.info.kind;
    run_.timed = kind == ProfileKind::durations || (kind == ProfileKind::mixed && rows_.total.ns > 0);
    if (kind == ProfileKind::stall_samples) {
      for (const analyze::SampleRow& row : rows_.samples) {
        add(rows_.work(row), {.count = row.count});
      }
    } else {
      for (const analyze::Row& row : rows_.rows) {
        add(rows_.work(row), row.weight);
      }
    }
  }

  void add_idle() {
    for (const analyze::IdleRow& row : rows_.idle) {
      if (const p::Work* const work = tables_.work(row.work)) {
        add(*work, {.ns = row.ns});
      } else if (row.ns > 0) {
        add(kernel_named(std::string(analyze::kNothingLaunched)), stack_of({}), {.ns = row.ns});
      }
    }
  }

  void add_host_times(p::Op op) {
    for (const analyze::Row& row : rows_.host) {
      if (const p::Work& work = rows_.work(row); work.op == op) {
        add(work, row.weight);
      }
    }
  }

  // Extrapolates unsampled work as `flame` does, because the share of unsampled work differs from run to run.
  void add(const p::Work& work, const analyze::Weight& weight) {
    extrapolation_.each_part(work, weight, [&](const analyze::LaunchSite& site, const analyze::Weight& part) {
      if (part.ns != 0 || part.count != 0) {
        add(kernel_of(work), stack_of(site), {part.ns, part.count});
      }
    });
  }

  void add(uint32_t kernel, uint32_t stack, const Cost& cost) {
    const auto [known, is_new] =
        paths_by_ids_.try_emplace(join_ids(kernel, stack), static_cast<uint32_t>(run_.paths.size()));
    if (is_new) {
      run_.paths.push_back({.kernel = kernel, .functions = path_functions(stack)});
    }
    run_.paths[known->second].cost += cost;
    run_.kernels[kernel].cost += cost;
    run_.total += cost;
  }

  // Key of a cache by operation and name: many work items share few of them, and a name may be long.
  static uint64_t kernel_key(const p::Work& work) { return join_ids(static_cast<uint8_t>(work.op), index(work.name)); }

  uint32_t kernel_of(const p::Work& work) {
    const auto [known, is_new] = kernels_by_id_.try_emplace(kernel_key(work), 0);
    if (is_new) {
      known->second = kernel_named(run_.facts.measure == Measure::idle ? analyze::idle_label(tables_, work)
                                                                       : analyze::work_label(tables_, work));
    }
    return known->second;
  }

  uint32_t kernel_named(std::string name) {
    const auto [named, added] = kernels_.try_emplace(name, static_cast<uint32_t>(run_.kernels.size()));
    if (added) {
      run_.kernels.push_back({.name = std::move(name)});
    }
    return named->second;
  }

  uint32_t stack_of(const analyze::LaunchSite& site) {
    const auto [known, is_new] = sites_.try_emplace(paths_.representative(site), 0);
    if (is_new) {
      std::u32string functions = functions_of(site);
      if (functions.size() > most_frames_ - kept_frames_) {
        functions.erase(0, functions.size() - std::min(functions.size(), kCutPathFrames));
        functions.insert(functions.begin(), truncated());
      }
      kept_frames_ += std::min(functions.size(), most_frames_ - kept_frames_);
      const auto [same, added] = stack_ids_.try_emplace(std::move(functions), static_cast<uint32_t>(stacks_.size()));
      if (added) {
        stacks_.push_back(&same->first);
      }
      known->second = same->second;
    }
    return known->second;
  }

  // Returns the functions outermost first; empty without a stack.
  std::u32string functions_of(analyze::LaunchSite site) {
    if (site.no_launch == analyze::PathNote::no_cpu_stack) {
      site.no_launch = analyze::PathNote::none;
    }
    std::u32string path;
    for (const analyze::WorkPaths::PathSegment part : paths_.launch(site)) {
      for (const uint32_t frame : paths_.frames(part)) {
        if (paths_.view().frame_class(frame) != analyze::FrameClass::separator) {
          path.push_back(function_of(frame));
        }
      }
    }
    return path;
  }

  // Returns the function of a shown frame. Many frames, one per line, belong to one function.
  uint32_t function_of(uint32_t frame) {
    const analyze::StackView& view = paths_.view();
    const uint32_t id = view.function(frame);
    const auto [known, is_new] = functions_by_id_.try_emplace(id, 0);
    if (is_new) {
      const auto [name, file] = view.function_text(id);
      const analyze::FrameClass cls = view.frame_class(frame);
      known->second = function({.name = std::string(name),
                                .file = std::string(file),
                                .note = cls == analyze::FrameClass::note || cls == analyze::FrameClass::mark});
    }
    analyze::Origin& origin = run_.functions[known->second].origin;
    origin = std::min(origin, view.origin(frame));
    return known->second;
  }

  uint32_t truncated() { return function({.name = std::string(kTruncated), .note = true}); }

  uint32_t function(Function made) {
    std::string key = std::to_string(made.name.size()).append(" ").append(made.name).append(made.file);
    const auto [known, is_new] = functions_.try_emplace(std::move(key), static_cast<uint32_t>(run_.functions.size()));
    if (is_new) {
      run_.functions.push_back(std::move(made));
    }
    return known->second;
  }

  std::vector<uint32_t> path_functions(uint32_t stack) {
    const std::u32string& frames = *stacks_[stack];
    path_frames_ += frames.size();
    if (path_frames_ <= most_frames_ || frames.size() <= kCutPathFrames + 1) {
      return {frames.begin(), frames.end()};
    }
    path_frames_ -= frames.size() - kCutPathFrames;
    ++cut_paths_;
    std::vector<uint32_t> cut = {truncated()};
    cut.insert(cut.end(), frames.end() - kCutPathFrames, frames.end());
    return cut;
  }

  void add_functions() {
    // For each function, the index of the last path that was added to its total.
    std::vector<uint32_t> seen(run_.functions.size(), UINT32_MAX);
    for (uint32_t at = 0; at < run_.paths.size(); ++at) {
      const Path& path = run_.paths[at];
      analyze::Launcher launcher;
      for (const uint32_t number : path.functions) {
        Function& function = run_.functions[number];
        if (std::exchange(seen[number], at) != at) {
          function.total += path.cost;
        }
        if (!function.note) {
          launcher.add(number, function.origin);
        }
      }
      if (launcher.function()) {
        run_.functions[*launcher.function()].direct += path.cost;
      }
    }
  }

  // Returns null for kernels whose cost is 0, which no comparison shows.
  Kernel* known_kernel(const p::Work& work) {
    const auto kernel = kernels_by_id_.find(kernel_key(work));
    return kernel == kernels_by_id_.end() ? nullptr : &run_.kernels[kernel->second];
  }

  void add_durations() {
    for (size_t row = 0; row < rows_.durations.size(); ++row) {
      if (Kernel* const kernel = known_kernel(rows_.work(rows_.rows[row]))) {
        kernel->durations.add(rows_.durations[row]);
      }
    }
  }

  void add_stalls() {
    std::unordered_map<uint32_t, uint32_t> reasons;  // maps STRING id to index into stall_reasons
    for (const analyze::SampleRow& row : rows_.samples) {
      const p::Work& work = rows_.work(row);
      Kernel* const kernel = known_kernel(work);
      if (!rows_.info.samples_are_reliable() || kernel == nullptr) {
        continue;
      }
      const uint32_t id = index(row.key.reason);
      const auto [known, is_new] = reasons.try_emplace(id, static_cast<uint32_t>(reasons.size()));
      if (is_new) {
        run_.stall_reasons.emplace_back(id == 0 ? analyze::kUnknown : tables_.text(row.key.reason));
      }
      StallSums& sums = kernel->stalls;
      const auto [reason, is_first] = sums.reasons.try_emplace(known->second);
      if (is_first) {
        const analyze::StallSpread spread = rows_.stall_slices.spread(work.name, row.key.reason);
        reason->second.part = spread.part;
        reason->second.squares = spread.squares;
        sums.whole = spread.whole;
        sums.blocks = spread.blocks;
      }
      reason->second.samples += row.count;
      sums.samples += row.count;
    }
  }

  size_t most_frames_;
  const Aggregate& rows_;
  const p::Tables& tables_;
  analyze::WorkPaths paths_;
  analyze::StackExtrapolation extrapolation_;
  Run& run_;
  std::unordered_map<uint64_t, uint32_t> kernels_by_id_;  // key: operation and STRING
  std::unordered_map<std::string, uint32_t> kernels_;
  std::unordered_map<uint32_t, uint32_t> functions_by_id_;  // key: function number in the stack view
  std::unordered_map<std::string, uint32_t> functions_;     // key: name and file
  std::unordered_map<analyze::LaunchSite, uint32_t, analyze::LaunchSiteHash> sites_;  // value: position in stacks_
  std::unordered_map<std::u32string, uint32_t> stack_ids_;  // maps the functions of a stack to its index in stacks_
  std::vector<const std::u32string*> stacks_;
  std::unordered_map<uint64_t, uint32_t> paths_by_ids_;  // key: kernel and stack
  size_t kept_frames_ = 0;
  size_t path_frames_ = 0;
  uint64_t cut_paths_ = 0;
};

}  // namespace

Run run_of(const Aggregate& rows, std::string file, const analyze::StackOptions& stacks, size_t most_frames,
           Measure measure) {
  Run run;
  run.facts = facts_of(rows, std::move(file), measure);
  RunBuilder(rows, stacks, most_frames, run).build();
  return run;
}

Result<Run> read_run(profile::Reader& reader, std::string file, const analyze::StackOptions& stacks, size_t most_frames,
                     Measure measure) {
  analyze::AggregateOptions needed = analyze::needed_for(measure);
  needed.durations = measure == Measure::gpu;
  needed.stall_slices = measure == Measure::gpu;
  auto rows = analyze::aggregate(reader, needed);
  if (!rows) {
    return std::move(rows).error();
  }
  if (measure == Measure::idle) {
    analyze::add_overlap_warnings(*rows);
  }
  return run_of(*rows, std::move(file), stacks, most_frames, measure);
}

Error nothing_measured(const RunFacts& facts, int exit_code) {
  const std::string file = escaped(facts.file);
  switch (facts.measure) {
    case Measure::gpu:
      return analyze::no_work(facts.info, file, exit_code);
    case Measure::idle:
      return {file + " has no idle time of a device", "`gpuprof report` shows how busy the devices were", exit_code};
    default:
      return {file + " has no times of CPU threads", "record the program with --cpu", exit_code};
  }
}

}  // namespace gpuprof::compare
