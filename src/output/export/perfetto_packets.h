// Writes the packets of a Perfetto trace in compressed batches. Internal to perfetto.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "output/timeline.h"

namespace gpuprof::output::perfetto {

class Packets {
 public:
  explicit Packets(Timeline::Sink sink) : sink_(std::move(sink)) {}

  // Adds a TracePacket with `fields` to the only packet sequence of the trace. `first` must be set for the first
  // packet, which starts the sequence.
  void put(std::string_view fields, bool first = false);

  [[nodiscard]] bool is_due() const { return batch_.size() >= kBatchBytes; }
  Status flush();

 private:
  // Size of a batch in bytes; Perfetto requires less than 512 KiB.
  static constexpr size_t kBatchBytes = size_t{256} << 10U;

  Timeline::Sink sink_;
  std::string batch_;
  std::string packed_;
};

}  // namespace gpuprof::output::perfetto
