// Fuzzes records of stalls: no read beyond the input, and no invented samples.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "backend/drm/stalls/stall_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gpuprof::backend::drm;
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const StallLayout layout : {StallLayout::pvc, StallLayout::xe2, StallLayout::xe3p}) {
    const auto record = decode_stall(layout, bytes);
    if (record.has_value() != (size >= least_record_bytes(layout))) {
      std::abort();
    }
    if (record && (record->samples() > kStalls * UINT8_MAX || record->address % 8 != 0)) {
      std::abort();
    }
  }
  return 0;
}
