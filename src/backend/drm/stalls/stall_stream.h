// EU stall sampling of xe: finds the GPUs that support it, and reads their streams of records.
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

struct StallGt {
  std::string bus;   // bus name of the GT's device: "0000:03:00.0"
  std::string node;  // device node for ioctls: "/dev/dri/renderD128"
  uint32_t gt = 0;
  StallLayout layout = StallLayout::xe2;
  size_t record_bytes = 0;
  std::vector<uint64_t> rates;  // supported sampling periods, in GPU cycles

  [[nodiscard]] std::string text() const { return "GT " + std::to_string(gt) + " of " + bus; }
};

// Returns the GTs with EUs from the driver's GT list and its answer about EU stalls. The error says what is invalid.
Result<std::vector<StallGt>> stall_gts(std::span<const std::byte> gt_list, std::span<const std::byte> eu_stall);

// Returns the supported rate nearest to `wanted`; for 0, the one with the fewest samples.
uint64_t choose_rate(std::span<const uint64_t> rates, uint64_t wanted);

class StallStream {
 public:
  enum class Outcome : uint8_t {
    data,
    nothing,  // no record at the moment
    dropped,  // records were lost before the next one; their number is unknown
    lost,     // the GPU was reset: a new stream is needed
    failed
  };
  struct Read {
    Outcome outcome = Outcome::nothing;
    size_t bytes = 0;
    int error = 0;  // errno, if `failed`
  };

  StallStream() = default;
  StallStream(const StallStream&) = delete;
  StallStream& operator=(const StallStream&) = delete;
  virtual ~StallStream() = default;

  // Reads complete records. Never blocks.
  virtual Read read(std::span<std::byte> into) = 0;
};

// The GPUs of the machine. make_xe_stall_devices() implements it for the kernel driver xe; tests use a fake.
class StallDevices {
 public:
  StallDevices() = default;
  StallDevices(const StallDevices&) = delete;
  StallDevices& operator=(const StallDevices&) = delete;
  virtual ~StallDevices() = default;

  // Returns an empty list if no GPU supports EU stall sampling. The error says why existing GPUs can not be sampled.
  virtual Result<std::vector<StallGt>> find() = 0;
  // The error says which right is missing, or that another program samples the GPU.
  virtual Result<std::unique_ptr<StallStream>> open(const StallGt& gt, uint64_t rate) = 0;
};

// Describes the GPUs that can be sampled, for doctor. Empty if there are none.
std::string stall_text(StallDevices& devices);

// `root` is put before /sys and /dev, for tests.
std::unique_ptr<StallDevices> make_xe_stall_devices(std::string root = "");

}  // namespace gpuprof::backend::drm
