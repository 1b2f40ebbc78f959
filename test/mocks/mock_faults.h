// MOCK_CUPTI_FAULTS: what the mock CUPTI and driver are to do wrong, as "name" or "name=number", ',' between.
#pragma once

#include <cstdint>

namespace gpuprof::mock {

struct Faults {
  bool refuse_timestamp_callback = false;  // cuptiActivityRegisterTimestampCallback fails
  bool subscriber_conflict = false;        // another subscriber is there already
  bool out_of_memory = false;              // cuptiActivityEnable fails
  bool insufficient_privileges = false;    // cuptiActivityEnable is for administrators
  bool refuse_latency = false;             // cuptiActivityEnableLatencyTimestamps fails
  bool refuse_memory = false;              // no records of allocations
  bool refuse_unified_memory = false;      // no counters of unified memory
  bool no_node_updates = false;            // no callbacks for nodes that are changed, as in CUPTI 12.0
  bool threads = false;                    // buffers come back from several threads at once
  bool out_of_order = false;               // the buffer that was filled last comes back first
  bool hang_flush = false;                 // cuptiActivityFlushAll never returns
  bool refuse_period = false;              // no period of PC sampling can be chosen
  uint64_t zero_timestamps = 0;            // every n-th record has no times
  uint64_t reversed_timestamps = 0;        // every n-th record ends before it starts
  uint64_t reversed_latency = 0;           // every n-th record was submitted before it was queued
  uint64_t broken_buffers = 0;             // every n-th buffer that comes back can not be read
  uint64_t drop_records = 0;               // every n-th record is dropped, and counted
  uint64_t first_correlation = 1;          // the id of the first call
  uint64_t old_version = 0;                // what cuptiGetVersion says
  uint64_t repeat_correlation = 0;         // ids begin anew after so many
  uint64_t refuse_sampling = 0;            // what cuptiPCSamplingEnable says
  uint64_t refuse_counting = 0;            // what cuptiSassMetricsSetConfig says
  uint64_t sampling_remaining = 0;         // cuptiPCSamplingGetData hands over so many places at most
  uint64_t sampling_dropped = 0;           // the samples of every n-th kernel are dropped
  uint64_t sampling_out_of_memory = 0;     // every n-th cuptiPCSamplingGetData fails, and has lost what there was
  uint64_t sampling_buffer_full = 0;       // every n-th one says that the hardware's buffer was full
};

// Read once. An unknown name ends the process: a test that misspells a fault must not pass.
const Faults& faults();

}  // namespace gpuprof::mock
