#include "backend/drm/stalls/stall_record.h"

#include <numeric>

namespace gpuprof::backend::drm {
namespace {

constexpr unsigned kCountBits = 8;
constexpr unsigned kAddressShift = 3;  // instructions are aligned to 8 bytes

// A record has an address of `address_bits`, followed by `counts` counts, without gaps.
struct Layout {
  unsigned address_bits = 0;
  unsigned counts = 0;
  std::array<Stall, kStalls> order{};
};

constexpr Layout kPvc{29,
                      9,
                      {Stall::active, Stall::other, Stall::control, Stall::pipestall, Stall::send, Stall::dist_acc,
                       Stall::sbid, Stall::sync, Stall::inst_fetch}};
constexpr std::array<Stall, kStalls> kNewOrder{Stall::tdr,        Stall::other,    Stall::control, Stall::pipestall,
                                               Stall::send,       Stall::dist_acc, Stall::sbid,    Stall::sync,
                                               Stall::inst_fetch, Stall::active};
constexpr Layout kXe2{29, 10, kNewOrder};
constexpr Layout kXe3p{61, 10, kNewOrder};

constexpr const Layout& of(StallLayout layout) {
  return layout == StallLayout::pvc ? kPvc : layout == StallLayout::xe2 ? kXe2 : kXe3p;
}

// Returns `count` bits of a little-endian record, from bit `from`. The record must be long enough.
uint64_t bits(std::span<const std::byte> record, unsigned from, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i) {
    const auto byte = std::to_integer<unsigned>(record[(from + i) / 8]);
    value |= uint64_t{(byte >> ((from + i) % 8)) & 1U} << i;
  }
  return value;
}

}  // namespace

std::string_view stall_name(Stall stall) {
  constexpr std::array<std::string_view, kStalls> kNames = {"active", "control", "pipestall",  "send",  "dist_acc",
                                                            "sbid",   "sync",    "inst_fetch", "other", "tdr"};
  return kNames[static_cast<size_t>(stall)];
}

StallLayout stall_layout(uint32_t graphics_version) {
  constexpr uint32_t kFirstXe2 = 20;
  constexpr uint32_t kFirstXe3p = 35;
  if (graphics_version >= kFirstXe3p) {
    return StallLayout::xe3p;
  }
  // Before Xe2, Ponte Vecchio is the only GPU with this interface.
  return graphics_version >= kFirstXe2 ? StallLayout::xe2 : StallLayout::pvc;
}

size_t least_record_bytes(StallLayout layout) {
  const Layout& used = of(layout);
  return (used.address_bits + used.counts * kCountBits + 7) / 8;
}

uint32_t StallRecord::samples() const {
  return std::accumulate(counts.begin(), counts.end(), uint32_t{0});
}

std::optional<StallRecord> decode_stall(StallLayout layout, std::span<const std::byte> record) {
  if (record.size() < least_record_bytes(layout)) {
    return std::nullopt;
  }
  const Layout& used = of(layout);
  StallRecord decoded;
  decoded.address = bits(record, 0, used.address_bits) << kAddressShift;
  for (unsigned i = 0; i < used.counts; ++i) {
    const auto at = static_cast<size_t>(used.order[i]);
    decoded.counts[at] = static_cast<uint8_t>(bits(record, used.address_bits + i * kCountBits, kCountBits));
  }
  return decoded;
}

}  // namespace gpuprof::backend::drm
