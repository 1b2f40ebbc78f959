// One recording, from the first fork to the END record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/sampling_options.h"
#include "base/result.h"
#include "profile/coverage.h"
#include "record/live/live_view.h"
#include "record/recording_switch.h"
#include "record/target/target.h"

namespace gpuprof::record {

// best: inproc where our library is in the process, else bpf, else frame pointers.
enum class StackChoice : uint8_t { best, bpf, inproc, frame_pointers, none };

struct SessionOptions {
  std::vector<std::string> command;   // what to run; empty with `attach_pid`
  uint32_t attach_pid = 0;            // record this running process instead
  std::string output;                 // its name, as of write/output_name.h
  std::string user;                   // run the command as this user ...
  bool preserve_environment = false;  // ... with our environment, but for the names of the user
  StackChoice stacks = StackChoice::best;
  uint64_t interval_ns = 1'000'000'000;  // time slice
  bool wait_for_children = true;         // after the command's end, for processes of it that still use a GPU
  bool timeline = false;                 // every event, not only sums
  bool latency = false;                  // histograms of how long launches wait
  backend::SamplingOptions sampling;     // inside kernels
  bool whole_graphs = false;             // one record a graph launch
  std::string commit;                    // of the program, as the user says; empty: it is looked for
  std::string nvtx_range;                // NAME or NAME@DOMAIN: only what is launched inside
  double max_overhead = 0;               // percent; 0: no limit
  RecordingSwitch::Options recording;    // when it is on
  LiveView* live = nullptr;              // shows it while it goes on; lives longer than the session
};

struct SessionResult {
  int wait_status = 0;            // of the command, as of waitpid; 0 for attach_pid
  profile::WorkCoverage covered;  // as `report` counts it
  std::string file;               // the profile, where it is a file and holds something; else empty
};

// Records what the backends can tell, writes the profile and prints the summary line.
Result<SessionResult> run_session(const SessionOptions& options, backend::Backends backends);

}  // namespace gpuprof::record
