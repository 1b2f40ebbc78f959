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
  std::string bus;   // name of the GT's device on its bus: "0000:03:00.0"
  std::string node;  // device node for ioctls: "/dev/dri/renderD128"
  uint32_t gt = 0;
  StallLayout layout = StallLayout::xe2;
  size_t record_bytes = 0;
  std::vector<uint64_t> rates;  // supported sampling periods, in GPU cycles

  [[nodiscard]] std::string text() const { return "GT " + std::to_string(gt) + " of " + bus; }
};

// Returns the GTs that have EUs. Takes the driver's list of GTs, and its answer about EU stalls. The error says what
// is invalid.
Result<std::vector<StallGt>> stall_gts(std::span<const std::byte> gt_list, std::span<const std::byte> eu_stall);

// Returns the supported period nearest to `wanted`. If `wanted` is 0, returns the period with the fewest samples.
uint64_t choose_rate(std::span<const uint64_t> rates, uint64_t wanted);

class StallStream {
 public:
  enum class Outcome : uint8_t {
    data,
    nothing,
    dropped,  // records before the next one were lost; their number is unknown
    lost,     // the GPU was reset, so a new stream must be opened
    failed
  };
  struct Read {
    Outcome outcome = Outcome::nothing;
    size_t bytes = 0;
    int error = 0;  // errno if the read failed
  };

  StallStream() = default;
  StallStream(const StallStream&) = delete;
  StallStream& operator=(const StallStream&) = delete;
  virtual ~StallStream() = default;

  // Reads complete records. Never blocks.
  virtual Read read(std::span<std::byte> into) = 0;
};

// The GPUs of the machine. make_xe_stall_devices() implements this for the driver xe. Tests use a fake.
class StallDevices {
 public:
  StallDevices() = default;
  StallDevices(const StallDevices&) = delete;
  StallDevices& operator=(const StallDevices&) = delete;
  virtual ~StallDevices() = default;

  // Returns an empty list if no GPU supports EU stall sampling. The error says why GPUs that support it can not be
  // sampled.
  virtual Result<std::vector<StallGt>> find() = 0;
  // The error says which right is missing, or that another program already samples the GPU.
  virtual Result<std::unique_ptr<StallStream>> open(const StallGt& gt, uint64_t rate) = 0;
};

// Describes for doctor which GPUs can be sampled. Returns an empty string if none can.
std::string stall_text(StallDevices& devices);

// Tests put `root` before /sys and /dev.
std::unique_ptr<StallDevices> make_xe_stall_devices(std::string root = "");

}  // namespace gpuprof::backend::drm
