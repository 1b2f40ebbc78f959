#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "child.h"
#include "fake_recorder.h"

namespace gpuprof::test {

struct Run {
  int status = -1;
  std::string output;
  std::vector<Source> sources;
};

inline Run run_once_with_layer(const std::vector<std::string>& command, const std::string& layers,
                               const FakeRecorder::Options& options = {}) {
  FakeRecorder recorder(options);
  Environment environment = recorder.environment();
  environment.emplace_back("OPENCL_LAYERS", layers);
  Program program = start_program(command, environment);
  recorder.start();
  Run run;
  run.output = read_all(program.output.get());
  run.status = wait_for(program.pid);
  recorder.stop();
  run.sources = recorder.sources();
  return run;
}

// Runs the command up to three times, until all work is reported: the driver's thread may report later than the layer
// waits.
inline Run run_with_layer(const std::vector<std::string>& command, const std::string& layers = GPUPROF_TEST_LAYER,
                          const FakeRecorder::Options& options = {}) {
  for (int tries_left = 2;; --tries_left) {
    Run run = run_once_with_layer(command, layers, options);
    const bool whole = std::all_of(run.sources.begin(), run.sources.end(),
                                   [](const Source& source) { return source.lost[GPUPROF_LOSS_UNFINISHED] == 0; });
    if (whole || tries_left == 0) {
      return run;
    }
  }
}

inline Run run_natively(const std::vector<std::string>& command, const Environment& environment = {}) {
  Program program = start_program(command, environment);
  Run run;
  run.output = read_all(program.output.get());
  run.status = wait_for(program.pid);
  return run;
}

}  // namespace gpuprof::test
