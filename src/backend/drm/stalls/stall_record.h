// Records of EU stall sampling, as the hardware writes them and xe hands them on: an address of an instruction, and how
// often threads were found there, by what they did or waited for. No device, no clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gpuprof::backend::drm {

// The order of the counts in StallRecord; names are those of the published form of profiles.
enum class Stall : uint8_t { active, control, pipestall, send, dist_acc, sbid, sync, inst_fetch, other, tdr };
constexpr size_t kStalls = 10;
std::string_view stall_name(Stall stall);

// How records are laid out: Ponte Vecchio; Xe2 and Xe3; Xe3p.
enum class StallLayout : uint8_t { pvc, xe2, xe3p };

// Of a GT that has the interface, by the version of its graphics as DRM_XE_DEVICE_QUERY_GT_LIST says it; 0: it says
// none.
StallLayout stall_layout(uint32_t graphics_version);

// Bytes that the layout uses; records are longer, by the size that the driver says.
size_t least_record_bytes(StallLayout layout);

struct StallRecord {
  // Of the instruction: relative to the instruction base address; of Xe3p as wide as an address.
  uint64_t address = 0;
  std::array<uint8_t, kStalls> counts{};

  [[nodiscard]] uint32_t samples() const;
};

// Nothing: `record` is too short for the layout.
std::optional<StallRecord> decode_stall(StallLayout layout, std::span<const std::byte> record);

}  // namespace gpuprof::backend::drm
