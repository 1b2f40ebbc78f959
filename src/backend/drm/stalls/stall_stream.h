// EU stall sampling of xe: which GPUs of the machine have it, and the streams of their records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/drm/stalls/stall_record.h"
#include "base/result.h"

namespace gpuprof::backend::drm {

// A GT whose stalls can be sampled.
struct StallGt {
  std::string bus;   // its device, as on its bus: "0000:03:00.0"
  std::string node;  // that it is asked by: "/dev/dri/renderD128"
  uint32_t gt = 0;
  StallLayout layout = StallLayout::xe2;
  size_t record_bytes = 0;
  std::vector<uint64_t> rates;  // GPU cycles from one sample to the next that it can do

  [[nodiscard]] std::string text() const { return "GT " + std::to_string(gt) + " of " + bus; }
};

// What a GT list and an answer about EU stalls say, as the driver writes them: the GTs with EUs. The error says what
// makes no sense.
Result<std::vector<StallGt>> stall_gts(std::span<const std::byte> gt_list, std::span<const std::byte> eu_stall);

// Of the rates that can be had, the one that is nearest to `wanted`; 0: that with the fewest samples.
uint64_t choose_rate(std::span<const uint64_t> rates, uint64_t wanted);

class StallStream {
 public:
  enum class Outcome : uint8_t {
    data,
    nothing,  // now
    dropped,  // records were lost before what comes next; nobody says how many
    lost,     // the GPU was reset: there must be a new stream
    failed
  };
  struct Read {
    Outcome outcome = Outcome::nothing;
    size_t bytes = 0;
    int error = 0;  // errno, with `failed`
  };

  StallStream() = default;
  StallStream(const StallStream&) = delete;
  StallStream& operator=(const StallStream&) = delete;
  virtual ~StallStream() = default;

  // Whole records. Never blocks.
  virtual Read read(std::span<std::byte> into) = 0;
};

// Who has the GPUs. Implemented by xe in the kernel and by test doubles.
class StallDevices {
 public:
  StallDevices() = default;
  StallDevices(const StallDevices&) = delete;
  StallDevices& operator=(const StallDevices&) = delete;
  virtual ~StallDevices() = default;

  // None where there is no such GPU. The error says why those that there are cannot be sampled.
  virtual Result<std::vector<StallGt>> find() = 0;
  // The error says who may do it, or who else does it.
  virtual Result<std::unique_ptr<StallStream>> open(const StallGt& gt, uint64_t rate) = 0;
};

// What they can do, for doctor; empty where there is no such GPU.
std::string stall_text(StallDevices& devices);

// `root`: in front of /sys and /dev.
std::unique_ptr<StallDevices> make_xe_stall_devices(std::string root = "");

}  // namespace gpuprof::backend::drm
