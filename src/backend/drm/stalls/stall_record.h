// Decodes the records of EU stall sampling. The hardware writes them, and xe passes them on unchanged. A record holds
// the address of an instruction and, for each stall reason, how often a thread was there. This code uses no device
// and no clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gpuprof::backend::drm {

// In the order of the counts in StallRecord. stall_name() returns the names that the stall files of other tools use,
// too.
enum class Stall : uint8_t { active, control, pipestall, send, dist_acc, sbid, sync, inst_fetch, other, tdr };
constexpr size_t kStalls = 10;
std::string_view stall_name(Stall stall);

// The layouts of records on Ponte Vecchio, on Xe2 and Xe3, and on Xe3p.
enum class StallLayout : uint8_t { pvc, xe2, xe3p };

// Returns the layout of a graphics version, which comes from DRM_XE_DEVICE_QUERY_GT_LIST. 0: the driver reported no
// version.
StallLayout stall_layout(uint32_t graphics_version);

// Returns how many bytes of a record the layout uses. A record is longer, and the driver reports its complete size.
size_t least_record_bytes(StallLayout layout);

struct StallRecord {
  // Address of the instruction. It is relative to the instruction base address, but absolute on Xe3p.
  uint64_t address = 0;
  std::array<uint8_t, kStalls> counts{};

  [[nodiscard]] uint32_t samples() const;
};

// Returns nullopt if `record` is shorter than the layout.
std::optional<StallRecord> decode_stall(StallLayout layout, std::span<const std::byte> record);

}  // namespace gpuprof::backend::drm
