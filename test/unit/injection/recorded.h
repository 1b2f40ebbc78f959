// Runs a piece of code as a target of the fake recorder, in a process of its own.
#pragma once

#include <vector>

#include "catch.h"
#include "child.h"
#include "common/emit.h"
#include "fake_recorder.h"

namespace gpuprof::test {

inline gpuprof_gpu_op op_with(uint64_t correlation) {
  gpuprof_gpu_op op = {};
  op.correlation = correlation;
  op.start_ns = correlation * 10;
  op.end_ns = correlation * 10 + 5;
  return op;
}

// Runs `body` as a target of a recorder with `options`; what the recorder saw.
template <typename Body>
std::vector<Source> record(const FakeRecorder::Options& options, const Body& body, int* status) {
  FakeRecorder recorder(options);
  REQUIRE(recorder.listening());
  const pid_t pid = fork_child(recorder.environment(), [&] { return injection::start("test") ? body() : 99; });
  recorder.start();
  *status = wait_for(pid);
  recorder.stop();
  return recorder.sources();
}

template <typename Body>
Source record_one(const FakeRecorder::Options& options, const Body& body) {
  int status = -1;
  const std::vector<Source> sources = record(options, body, &status);
  REQUIRE(status == 0);
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].bad_records == 0);
  CHECK(sources[0].duplicate_names == 0);
  return sources[0];
}

}  // namespace gpuprof::test
