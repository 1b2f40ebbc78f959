// libFuzzer: what a hostile target may write into its rings, through the decoder and the correlator.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>

#include "record/correlate.h"
#include "record/wire_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuprof::record::Correlator correlator({.start_ns = 1, .interval_ns = 1'000'000, .counted_functions = {}});
  correlator.on_source(1, static_cast<uint32_t>(::getpid()), "fuzz");
  gpuprof::record::DecodeCounts counts;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (gpuprof::record::decode_records(1, bytes, correlator, counts) > size) {
    std::abort();
  }
  correlator.settle(true);
  const auto batch = correlator.take_batch();
  uint64_t records = 0;
  for (const auto& [key, value] : batch.rows) {
    records += value.count;
  }
  if (records != correlator.totals().gpu_records) {
    std::abort();
  }
  return 0;
}
