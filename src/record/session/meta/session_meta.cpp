#include "record/session/meta/session_meta.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "base/files/open_folder.h"
#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/nvidia_driver.h"
#include "base/text/numbers.h"
#include "base/version.h"
#include "record/session/meta/source_commit.h"

namespace gpuprof::record {
namespace {

uint64_t unix_ns() {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(ts.tv_nsec);
}

void add_depths(Correlator& correlator, const std::string& kind, const Depths& depths) {
  if (!depths.empty()) {
    correlator.add_meta("stack_depth." + kind + "_median", std::to_string(depths.median()));
    correlator.add_meta("stack_depth." + kind + "_max", std::to_string(depths.max()));
  }
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string current_folder() {
  const UniqueFd folder = locate(AT_FDCWD, ".", O_DIRECTORY);
  return folder ? real_path(folder.get()) : std::string();
}

// Adds META lines by which a comparison distinguishes runs of a program.
void add_comparison_meta(Correlator& correlator, const SessionOptions& options) {
  if (const std::string driver = nvidia_driver_version(); !driver.empty()) {
    correlator.add_meta("gpu.driver", "NVIDIA " + driver);
  }
  const std::string commit = source_commit(options.commit, environment_variable, current_folder());
  if (!commit.empty()) {
    correlator.add_meta("source.commit", commit);
  }
}

}  // namespace

namespace {

// Returns the options that limited the recording to a window, for example " -p 4242 --duration 500 ms".
std::string window_options(const SessionOptions& options, const SummaryFacts& facts) {
  std::string text = options.attach_pid == 0 ? "" : " -p " + std::to_string(options.attach_pid);
  text += options.recording.delay_ns == 0 ? "" : " --delay " + duration_text(options.recording.delay_ns);
  text += options.recording.duration_ns == 0 ? "" : " --duration " + duration_text(options.recording.duration_ns);
  text += options.recording.paused ? " --start-paused" : "";
  text += facts.still_running.empty() || options.wait_for_children ? "" : " --wait main";
  return text.empty() ? "signals" : text.substr(1);
}

}  // namespace

void add_session_meta(Correlator& correlator, const SessionOptions& options, const SessionFacts& facts,
                      const backend::Backends& backends) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  utsname kernel{};
  ::uname(&kernel);
  std::string command;
  for (const std::string& argument : options.command) {
    command += (command.empty() ? "" : " ") + argument;
  }
  if (const std::string id = new_recording_id(); !id.empty()) {
    correlator.add_meta("recording", id);
  }
  correlator.add_meta("gpuprof_version", std::string(version()));
  correlator.add_meta("command", command);
  correlator.add_meta("host", host.data());
  correlator.add_meta("kernel", std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine);
  correlator.add_meta("start_ns", std::to_string(facts.start_ns));
  correlator.add_meta("start_unix_ns", std::to_string(unix_ns()));
  using Grid = profile::SliceGridReader;
  const profile::SliceGrid grid = options.grid();
  if (grid.has_long()) {
    correlator.add_meta(std::string(Grid::kLongFrom), std::to_string(grid.first_long * grid.interval_ns));
    correlator.add_meta(std::string(Grid::kLongInterval), std::to_string(grid.long_width * grid.interval_ns));
  }
  correlator.add_meta(std::string(Grid::kInterval), std::to_string(grid.interval_ns));
  correlator.add_meta("stack_engine", std::string(facts.stack_engine));
  correlator.add_meta("stack_engine_reason", facts.stack_engine_reason);
  if (options.attach_pid != 0) {
    correlator.add_meta("attach.pid", std::to_string(options.attach_pid));
    correlator.add_meta("attach.by", facts.counts_only.empty() ? "injection" : "uprobes");
    if (!facts.counts_only.empty()) {
      correlator.add_meta("attach.counts_only", facts.counts_only);
    }
  }
  if (options.sampling.samples) {
    correlator.add_meta("recording.samples", options.sampling.exact ? "exact" : "continuous");
  }
  if (options.max_overhead > 0) {
    correlator.add_meta("budget.max_overhead_percent", fmt::format("{:g}", options.max_overhead));
  }
  correlator.add_meta("graphs", options.whole_graphs ? "whole" : "nodes");
  if (!options.nvtx_range.empty() && facts.counts_only.empty()) {
    correlator.add_meta("nvtx_range", options.nvtx_range);
  }
  if (!options.only_backends.empty()) {
    correlator.add_meta("recording.backends", options.only_backends);
  }
  add_comparison_meta(correlator, options);
  for (const auto& backend : backends) {
    const auto found = backend->probe();
    correlator.add_meta(std::string("backend.") + backend->descriptor().name,
                        (found.available ? "available: " : "unavailable: ") + found.detail);
  }
}

std::string unseen_backends(const backend::Backends& backends) {
  std::string names;
  for (const auto& backend : backends) {
    if (const auto found = backend->probe(); found.unrecorded) {
      names += (names.empty() ? "" : ", ") + std::string(backend->descriptor().name) + " (" + found.detail + ")";
    }
  }
  return names;
}

void add_overhead_meta(Correlator& correlator, const SessionOptions& options, const SummaryFacts& facts) {
  correlator.add_meta("overhead.recorder_cpu_ns", std::to_string(facts.recorder_cpu_ns));
  correlator.add_meta("overhead.wall_ns", std::to_string(facts.wall_ns));
  if (facts.overhead.samples > 0) {
    correlator.add_meta("overhead.probe_ns_per_launch",
                        std::to_string(facts.overhead.per_launch(correlator.totals().launches)));
  }
  add_depths(correlator, "native", correlator.counters().native_depths());
  add_depths(correlator, "python", correlator.counters().python_depths());
  if (facts.only_a_window || !facts.still_running.empty()) {
    correlator.add_meta("recording.window", window_options(options, facts));
  }
  if (const std::string text = exceeded_line(facts); !text.empty()) {
    correlator.add_meta("note.overhead", text);
  }
  if (!facts.still_running.empty()) {
    correlator.add_meta("note.still_running", running_line(facts));
  }
  if (const uint64_t off = correlator.totals().off_records; off != 0) {
    correlator.add_meta("gpu_records.while_off", std::to_string(off));
  }
  if (const uint64_t off = correlator.totals().off_samples; off != 0) {
    correlator.add_meta("samples.while_off", std::to_string(off));
  }
  if (const uint64_t late = correlator.late_ns(); late != 0) {
    correlator.add_meta("sweep.late_ns", std::to_string(late));
  }
  if (const SampledIdle::Totals sampled = correlator.sampled_idle(); sampled.polls != 0) {
    correlator.add_meta("idle.polled_ns", std::to_string(sampled.ns));
    correlator.add_meta("idle.polls", std::to_string(sampled.polls));
  }
  if (const uint64_t skipped = correlator.skipped_polls(); skipped != 0) {
    correlator.add_meta("idle.skipped_polls", std::to_string(skipped));
  }
}

void add_off_cpu_meta(Correlator& correlator, const OffCpuEngine::Counts& counts) {
  correlator.add_meta("off_cpu.lost", std::to_string(counts.lost));
  correlator.add_meta("off_cpu.lost_stacks", std::to_string(counts.lost_stacks));
  correlator.add_meta("off_cpu.brief", std::to_string(counts.brief));
  correlator.add_meta("off_cpu.brief_ns", std::to_string(counts.brief_ns));
  if (counts.lost + counts.lost_stacks != 0) {
    const std::string text = counted_text(counts.lost, "time") +
                             " off a CPU dropped because gpuprof's buffer was full, " +
                             std::to_string(counts.lost_stacks) + " more without a stack";
    log::warn(text);
    correlator.add_meta("note.off_cpu", text);
  }
}

}  // namespace gpuprof::record
