// Samples as CUPTI hands them over, and the records that are made of them: SAMPLES, then the SAMPLE_WINDOW that says
// how many there were.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cupti_api.h"
#include "wire/wire.h"

namespace gpuprof::injection::cupti {

// What CUPTI's indexes of stall reasons mean.
struct StallReasons {
  static constexpr uint32_t kMost = GPUPROF_SAMPLES_MAX_REASONS;
  static constexpr uint32_t kLeftOut = UINT32_MAX;
  uint32_t count;           // of all reasons that CUPTI has for one instruction
  uint32_t name_id[kMost];  // by index; 0: not known
};

// Room for what CUPTI hands over at once.
struct PcBuffer {
  CUpti_PCSamplingData data;
  uint8_t* memory;
  size_t bytes;
  size_t pc_bytes;   // from one CUpti_PCSamplingPCData to the next
  uint32_t reasons;  // room for each instruction
};

// How large CUpti_PCSamplingPCData is to a CUPTI of this version (cuptiGetVersion).
size_t pc_data_bytes(uint32_t cupti_version);

// Whether samples of this CUPTI have the correlation id of their launch.
bool samples_name_launches(uint32_t cupti_version);

// `reasons`: for each instruction. False: there is no memory.
bool make_buffer(size_t pcs, uint32_t reasons, size_t pc_bytes, PcBuffer* buffer);
void free_buffer(PcBuffer* buffer);
// To be filled by CUPTI.
void clear_buffer(PcBuffer* buffer);

struct SampleCounts {
  uint64_t total;  // as CUPTI says, of which:
  uint64_t handed;
  uint64_t dropped;
  uint64_t foreign;
};

// Adds what is in the buffer.
void count_samples(const PcBuffer& buffer, const StallReasons& reasons, SampleCounts* counts);

// One SAMPLES record for each instruction in the buffer. May wait for space where `may_wait`.
void emit_samples(const PcBuffer& buffer, const StallReasons& reasons, uint32_t window, uint32_t ring, bool may_wait);

// False: it could not be written.
bool emit_sampled_launch(uint64_t correlation);
bool emit_window(gpuprof_sample_window window, uint32_t ring, bool may_wait);

}  // namespace gpuprof::injection::cupti
