// MOCK_CUPTI_FAULTS: what the mock CUPTI is to do wrong, as "name" or "name=number", ',' between.
#pragma once

#include <cstdint>

namespace gpuprof::mock {

struct Faults {
  bool refuse_timestamp_callback = false;  // cuptiActivityRegisterTimestampCallback fails
  bool subscriber_conflict = false;        // another subscriber is there already
  bool out_of_memory = false;              // cuptiActivityEnable fails
  bool threads = false;                    // buffers come back from several threads at once
  bool hang_flush = false;                 // cuptiActivityFlushAll never returns
  uint64_t zero_timestamps = 0;            // every n-th record has no times
  uint64_t reversed_timestamps = 0;        // every n-th record ends before it starts
  uint64_t drop_records = 0;               // every n-th record is dropped, and counted
};

// Read once. An unknown name ends the process: a test that misspells a fault must not pass.
const Faults& faults();

}  // namespace gpuprof::mock
