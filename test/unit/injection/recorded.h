#pragma once

#include <unistd.h>

#include <cstddef>
#include <vector>

#include "base/atomics.h"
#include "catch.h"
#include "child.h"
#include "fake_recorder.h"
#include "ipc/emit.h"
#include "runtime/lifecycle.h"

namespace gpuprof::test {

inline gpuprof_gpu_op op_with(uint64_t correlation) {
  gpuprof_gpu_op op = {};
  op.correlation = correlation;
  op.start_ns = correlation * 10;
  op.end_ns = correlation * 10 + 5;
  return op;
}

// In a target: waits until the recorder has read everything. A busy machine may delay the recorder.
inline void wait_until_read() {
  const auto* options = reinterpret_cast<const char*>(injection::options());
  const auto* segment = reinterpret_cast<const gpuprof_segment*>(options - offsetof(gpuprof_segment, options));
  for (const gpuprof_ring& ring : segment->rings) {
    while (injection::load_acquire(&ring.tail) != injection::load_relaxed(&ring.head)) {
      usleep(1000);
    }
  }
}

// Runs `body` as a target of a recorder with `options`, and returns what the recorder received.
template <typename Body>
std::vector<Source> record(const FakeRecorder::Options& options, const Body& body, int* status) {
  constexpr int kNotConnected = 99;
  for (int tries_left = 2;; --tries_left) {
    FakeRecorder recorder(options);
    REQUIRE(recorder.listening());
    const pid_t pid =
        fork_child(recorder.environment(), [&] { return injection::start("test") ? body() : kNotConnected; });
    recorder.start();
    *status = wait_for(pid);
    recorder.stop();
    // A target waits for the recorder for at most 2 s. A busy machine may not run this process in that time.
    if (tries_left == 0 || !WIFEXITED(*status) || WEXITSTATUS(*status) != kNotConnected) {
      return recorder.sources();
    }
  }
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
