// Runs one recording, from the start of the target to the END record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/sampling_options.h"
#include "base/result.h"
#include "profile/coverage.h"
#include "profile/slice_grid.h"
#include "record/live/live_view.h"
#include "record/recording_switch.h"
#include "record/target/target.h"
#include "record/write/recent_files.h"

namespace gpuprof::record {

// `best`: targets with an injection library walk their own stacks. For other targets, the recorder uses bpf or, if that
// fails, frame_pointers.
enum class StackChoice : uint8_t { best, bpf, inproc, frame_pointers, none };

struct SessionOptions {
  std::vector<std::string> command;  // empty if `attach_pid` is set
  uint32_t attach_pid = 0;           // pid of the running process to record instead of a command; 0: none
  [[nodiscard]] uint64_t cpu_period_ns() const { return cpu_hz == 0 ? 0 : 1'000'000'000 / cpu_hz; }
  std::string output;  // name pattern, see write/output_name.h
  // Runs the command as this user; empty: as the recorder's user.
  std::string user;
  // With `user`: keeps all environment variables except those that describe a user, such as HOME.
  bool preserve_environment = false;
  StackChoice stacks = StackChoice::best;
  uint64_t interval_ns = 0;       // length of a time slice; 0: see grid()
  RecentFiles::Options recent;    // whether the profile keeps only the last time
  bool wait_for_children = true;  // after the command ends, wait for its children that use a GPU
  bool timeline = false;
  bool latency = false;
  uint32_t cpu_hz = 0;         // CPU samples of a thread per second of its CPU time; 0: none
  bool exact_off_cpu = false;  // with cpu_hz: BPF reports when threads do not run, instead of polls
  // Argument of --backend, such as "cupti,opencl", if it switches off a backend that records otherwise; else empty.
  std::string only_backends;
  backend::SamplingOptions sampling;
  bool whole_graphs = false;  // one record for each graph launch
  // Commit of the recorded program; empty: the recorder determines it.
  std::string commit;
  std::string nvtx_range;   // NAME or NAME@DOMAIN: only launches inside this range
  double max_overhead = 0;  // argument of --max-overhead in percent; 0: no limit
  RecordingSwitch::Options recording;
  // Whether recording is switched on and off to keep below max_overhead. With exact samples, max_overhead limits only
  // the sampled launches.
  [[nodiscard]] bool has_duty_cycle() const { return max_overhead > 0 && !sampling.exact; }
  // Unless the user chose a length, files of at most a minute have short slices. A recording of unknown length begins
  // with short slices, and has long ones after a minute.
  [[nodiscard]] profile::SliceGrid grid() const {
    constexpr uint64_t kShortNs = 100'000'000;
    constexpr uint64_t kLongNs = 1'000'000'000;
    constexpr uint64_t kMinuteNs = 60'000'000'000;
    if (interval_ns != 0) {
      return {.interval_ns = interval_ns};
    }
    if (recent.any()) {
      return {.interval_ns = std::max(recent.last_ns, recent.rotate_ns) <= kMinuteNs ? kShortNs : kLongNs};
    }
    return {.interval_ns = kShortNs, .first_long = kMinuteNs / kShortNs, .long_width = kLongNs / kShortNs};
  }
  // Displays sums during the recording; null: no display. Must outlive the session.
  LiveView* live = nullptr;
};

struct SessionResult {
  int wait_status = 0;            // a wait status of waitpid(); 0 if `attach_pid` is set
  profile::WorkCoverage covered;  // as `report` computes it
  // Name of the profile; empty if the profile is empty or not a regular file.
  std::string file;
};

// Records what the backends report, writes the profile and prints the summary.
Result<SessionResult> run_session(const SessionOptions& options, backend::Backends backends);

}  // namespace gpuprof::record
