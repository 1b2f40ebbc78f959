// Decodes records of EU stall sampling, as the hardware writes them and xe passes them on. A record holds the address
// of an instruction, and how often threads were there for each stall reason. Uses no device and no clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gpuprof::backend::drm {

// The order of the counts in StallRecord. stall_name() returns the names that other tools' stall files also use.
enum class Stall : uint8_t { active, control, pipestall, send, dist_acc, sbid, sync, inst_fetch, other, tdr };
constexpr size_t kStalls = 10;
std::string_view stall_name(Stall stall);

// Layouts of records: Ponte Vecchio; Xe2 and Xe3; Xe3p.
enum class StallLayout : uint8_t { pvc, xe2, xe3p };

// Returns the layout for a graphics version of DRM_XE_DEVICE_QUERY_GT_LIST (0: the driver reports no version).
StallLayout stall_layout(uint32_t graphics_version);

// Returns how many bytes the layout uses. Records end with more bytes, and the driver reports their complete size.
size_t least_record_bytes(StallLayout layout);

struct StallRecord {
  // Instruction address, relative to the instruction base address. Absolute on Xe3p.
  uint64_t address = 0;
  std::array<uint8_t, kStalls> counts{};

  [[nodiscard]] uint32_t samples() const;
};

// nullopt: `record` is too short for the layout.
std::optional<StallRecord> decode_stall(StallLayout layout, std::span<const std::byte> record);

}  // namespace gpuprof::backend::drm
