// Converts samples from CUPTI into records: SAMPLES, then the SAMPLE_WINDOW that ends their window.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cupti_api.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {

struct StallReasons {
  static constexpr uint32_t kMost = GPUPROF_SAMPLES_MAX_REASONS;
  static constexpr uint32_t kLeftOut = UINT32_MAX;
  uint32_t count;           // largest number of stall reasons that an instruction has
  uint32_t name_id[kMost];  // indexed like CUPTI's stall reasons; 0: the reason is unknown
};

struct PcBuffer {
  CUpti_PCSamplingData data;
  uint8_t* memory;
  size_t bytes;
  size_t pc_bytes;   // distance between two entries in `memory`, as CUPTI expects it
  uint32_t reasons;  // maximum number of stall reasons per instruction
};

// Returns the size of CUpti_PCSamplingPCData in the CUPTI of this version (cuptiGetVersion).
size_t pc_data_bytes(uint32_t cupti_version);

// Returns whether this CUPTI's samples carry the correlation id of their launch.
bool samples_name_launches(uint32_t cupti_version);

// Allocates a buffer for `pcs` instructions with `reasons` stall reasons each. Returns false if memory is exhausted.
bool make_buffer(size_t pcs, uint32_t reasons, size_t pc_bytes, PcBuffer* buffer);
void free_buffer(PcBuffer* buffer);
void clear_buffer(PcBuffer* buffer);

struct SampleCounts {
  uint64_t total;  // number of samples that CUPTI reports; the sum of the other three
  uint64_t handed;
  uint64_t dropped;
  uint64_t foreign;
};

void count_samples(const PcBuffer& buffer, const StallReasons& reasons, SampleCounts* counts);

// Emits one SAMPLES record per instruction. With `may_wait`, waits for free space in the ring.
void emit_samples(const PcBuffer& buffer, const StallReasons& reasons, uint32_t window, uint32_t ring, bool may_wait);

// Return false if the record was not written.
bool emit_sampled_launch(uint64_t correlation);
bool emit_window(gpuprof_sample_window window, uint32_t ring, bool may_wait);

}  // namespace gpuprof::injection::cupti
