#include "profile/words.h"

#include <algorithm>
#include <array>

namespace gpuprof::profile {
namespace {

// Each in the order of its enumeration.
constexpr std::array<std::string_view, 6> kFrameKinds = {"native", "inlined", "kernel",
                                                         "python", "unknown", "truncated"};
constexpr std::array<std::string_view, 9> kOps = {"kernel",    "copy_htod", "copy_dtoh", "copy_dtod", "copy_htoh",
                                                  "copy_ptop", "copy",      "fill",      "other"};
constexpr std::array<std::string_view, 11> kStallTypes = {
    "", "active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr"};

static_assert(static_cast<size_t>(FrameKind::truncated) + 1 == kFrameKinds.size());
static_assert(static_cast<size_t>(Op::other) + 1 == kOps.size());

template <typename Enum, size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& words, std::string_view text) {
  const auto* const found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    return std::nullopt;
  }
  return static_cast<Enum>(found - words.begin());
}

}  // namespace

std::string_view word(FrameKind kind) {
  return kFrameKinds.at(static_cast<size_t>(kind));
}
std::string_view word(Op op) {
  return kOps.at(static_cast<size_t>(op));
}
std::optional<FrameKind> frame_kind_of(std::string_view text) {
  return find<FrameKind>(kFrameKinds, text);
}
std::optional<Op> op_of(std::string_view text) {
  return find<Op>(kOps, text);
}

std::string_view stall_type_word(uint32_t stall_type) {
  return stall_type < kStallTypes.size() ? kStallTypes[stall_type] : std::string_view();
}

}  // namespace gpuprof::profile
