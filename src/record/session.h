// Runs one recording, from the first fork to the END record.
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

// `best`: targets walk their stacks if they have an injection library; else bpf; if that fails, frame_pointers.
enum class StackChoice : uint8_t { best, bpf, inproc, frame_pointers, none };

struct SessionOptions {
  std::vector<std::string> command;   // empty with `attach_pid`
  uint32_t attach_pid = 0;            // running process to record instead of a command; 0: none
  std::string output;                 // name pattern, see write/output_name.h
  std::string user;                   // run the command as this user
  bool preserve_environment = false;  // with `user`: keep all variables except HOME etc., which describe a user
  StackChoice stacks = StackChoice::best;
  uint64_t interval_ns = 1'000'000'000;  // time slice
  bool wait_for_children = true;         // after the command ends, wait for its children that use a GPU
  bool timeline = false;                 // store every event, not only sums
  bool latency = false;                  // store histograms of launch latencies
  backend::SamplingOptions sampling;     // samples inside kernels
  bool whole_graphs = false;             // one record for each graph launch
  std::string commit;                    // commit of the program; empty: determined automatically
  std::string nvtx_range;                // NAME or NAME@DOMAIN: only launches inside this range
  double max_overhead = 0;               // argument of --max-overhead in percent; 0: no limit
  RecordingSwitch::Options recording;
  LiveView* live = nullptr;  // display while recording; must outlive the session
};

struct SessionResult {
  int wait_status = 0;            // status of the command, as from waitpid(); 0 with attach_pid
  profile::WorkCoverage covered;  // coverage, as `report` counts it
  std::string file;               // name of a non-empty profile in a regular file, else empty
};

// Records what the backends report, writes the profile and prints the summary.
Result<SessionResult> run_session(const SessionOptions& options, backend::Backends backends);

}  // namespace gpuprof::record
