// The state shared by the CUPTI library's files. It is global, because CUPTI has one subscriber per process and passes
// no user pointer to buffer callbacks.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

struct Session {
  Api api;
  // gpuprof's subscription if CUPTI has several; null: CUPTI has only this one.
  CUpti_SubscriberHandle shared;
  // true: CUPTI refused the timestamp callback, so `clock_offset_ns` converts CUPTI's times. Each flush measures
  // that offset again.
  bool convert_clock;
  int64_t clock_offset_ns;  // atomic; CLOCK_MONOTONIC - CUPTI's clock
  uint32_t devices_named;   // atomic; 1: DEVICE records were emitted
  // Atomic. 1: the last flush has begun. CUPTI delivers unfinished work in it, as records without an end time.
  uint32_t ending;
  // Atomic; number of records with valid times, so that the recorder can check the profile's sums.
  uint64_t valid_records;
  uint64_t valid_ns;          // sum of the durations of the records counted in valid_records, in ns
  bool whole_graphs;          // GRAPH_TRACE is on during the complete recording
  uint32_t paused;            // atomic; 1: set_recording() has switched recording off
  uint32_t contexts;          // atomic; 1: the process has made a CUDA context
  uint32_t call_epoch;        // atomic; how often callbacks were switched on: earlier calls may have ended unseen
  uint32_t subscriptions;     // atomic; number of subscriptions in this recording after the first
  uint32_t unified_asked;     // atomic; 1: CUPTI was asked for unified memory counters
  bool unified_memory;        // atomic; unified memory counters are on
  uint32_t conditions;        // atomic; 1: there may be graphs with conditional nodes
  uint32_t graphs_seen;       // atomic; 1: since this library was loaded, CUPTI may have changed graphs to record them
  uint32_t updates_reported;  // 1: CUPTI reports which nodes of executable graphs change
  uint32_t finalize;          // atomic; enum Finalize of subscriber.cpp
};

extern Session the_session;  // NOLINT(bugprone-dynamic-static-initializers): zero-initialized

inline Session& session() {
  return the_session;
}

// Returns an id that is unique in the recording. CUPTI's correlation ids begin anew with each subscription.
inline uint64_t unique_id(uint32_t correlation) {
  return uint64_t{load_relaxed(&session().subscriptions)} << 32 | correlation;
}

// Compares cuptiGetTimestamp with CLOCK_MONOTONIC. Keeps the old offset if CUPTI returns no time.
void measure_clock_offset();

}  // namespace gpuprof::injection::cupti
