// The packets of a Perfetto trace on their way out, in compressed lots. Internal to perfetto.cpp.
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

  // A TracePacket, to whose fields those of our one packet sequence are added.
  void put(std::string_view fields, bool first = false);

  [[nodiscard]] bool is_due() const { return lot_.size() >= kLot; }
  Status flush();

 private:
  static constexpr size_t kLot = size_t{256} << 10U;  // Perfetto wants less than 512 KiB in one

  Timeline::Sink sink_;
  std::string lot_;
  std::string packed_;
};

}  // namespace gpuprof::output::perfetto
