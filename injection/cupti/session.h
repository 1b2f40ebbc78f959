// What the parts of this library share. One a process: CUPTI has one subscriber a process, and its buffer callbacks
// come without a pointer of ours.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

struct Session {
  Api api;
  // CUPTI refused our clock: its own is converted by `clock_offset_ns`, which follows adjustments of that clock.
  bool convert_clock;
  int64_t clock_offset_ns;  // atomic; CLOCK_MONOTONIC - CUPTI's clock
  uint32_t devices_named;   // atomic; their DEVICE records were emitted
  uint32_t ending;          // atomic; the last, forced flush: records without an end are work cut short
  uint64_t valid_records;   // atomic; what CUPTI gave us with sound times, to hold the profile's totals against ...
  uint64_t valid_ns;        // ... and the sum of their durations
  bool whole_graphs;        // GRAPH_TRACE is on, for as long as we are there
  uint32_t paused;          // atomic; set_recording(false)
  uint32_t unified_asked;   // atomic; its counters were asked for
  bool unified_memory;      // atomic; its counters are on
  uint32_t conditions;      // atomic; there may be graphs with conditional nodes
  uint32_t updates_told;    // CUPTI tells which nodes of executable graphs are changed
  uint32_t finalize;        // atomic; enum Finalize of subscriber.cpp
};

extern Session the_session;  // NOLINT(bugprone-dynamic-static-initializers): zeros to begin with

inline Session& session() {
  return the_session;
}

// cuptiGetTimestamp against CLOCK_MONOTONIC; keeps the old offset when CUPTI has no time to tell.
void measure_clock_offset();

}  // namespace gpuprof::injection::cupti
