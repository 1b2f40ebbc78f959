// MOCK_CUPTI_FAULTS lists the faults of the mock CUPTI and driver as "name" or "name=number", separated by ','.
#pragma once

#include <cstdint>

namespace gpuprof::mock {

struct Faults {
  bool refuse_timestamp_callback = false;  // cuptiActivityRegisterTimestampCallback fails
  bool subscriber_conflict = false;        // another subscriber exists already
  bool out_of_memory = false;              // cuptiActivityEnable fails
  bool insufficient_privileges = false;    // cuptiActivityEnable requires administrator rights
  bool refuse_latency = false;             // cuptiActivityEnableLatencyTimestamps fails
  bool refuse_memory = false;              // allocation records are refused
  bool refuse_unified_memory = false;      // unified memory counters are refused
  bool no_node_updates = false;            // no callbacks for changed nodes, as in CUPTI 12.0
  bool threads = false;                    // buffers come back from several threads at once
  bool out_of_order = false;               // the buffer that was filled last comes back first
  bool hang_flush = false;                 // cuptiActivityFlushAll never returns
  bool refuse_period = false;              // the period of PC sampling cannot be set
  uint64_t zero_timestamps = 0;            // every n-th record has no times
  uint64_t reversed_timestamps = 0;        // every n-th record ends before it starts
  uint64_t reversed_latency = 0;           // every n-th record was submitted before it was queued
  uint64_t broken_buffers = 0;             // every n-th returned buffer cannot be read
  uint64_t drop_records = 0;               // every n-th record is dropped, and counted
  uint64_t first_correlation = 1;          // correlation id of the first call
  uint64_t old_version = 0;                // version that cuptiGetVersion returns
  uint64_t repeat_correlation = 0;         // correlation ids restart after this many
  bool nested_correlation = false;         // nested calls have correlation ids of their own
  uint64_t refuse_sampling = 0;            // error that cuptiPCSamplingEnable returns
  uint64_t refuse_counting = 0;            // error that cuptiSassMetricsSetConfig returns
  uint64_t sampling_remaining = 0;         // maximum number of PCs that cuptiPCSamplingGetData returns
  uint64_t sampling_dropped = 0;           // the samples of every n-th kernel are dropped
  uint64_t sampling_out_of_memory = 0;     // every n-th cuptiPCSamplingGetData fails and loses its samples
  uint64_t sampling_buffer_full = 0;       // every n-th cuptiPCSamplingGetData reports a full hardware buffer
};

// Returns the faults, read once. An unknown name ends the process: a test that misspells a fault must not pass.
const Faults& faults();

}  // namespace gpuprof::mock
