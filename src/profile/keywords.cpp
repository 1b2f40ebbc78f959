#include "profile/keywords.h"

#include <algorithm>
#include <array>

namespace gpuprof::profile {
namespace {

// The words of each array are in the order of its enumeration.
constexpr std::array<std::string_view, 8> kFrameKinds = {"native",      "inlined", "kernel",  "python",
                                                         "interpreter", "gpu",     "unknown", "truncated"};
constexpr std::array<std::string_view, 23> kOps = {
    "kernel",       "copy_htod",    "copy_dtoh", "copy_dtod", "copy_htoh", "copy_ptop", "copy",      "fill",
    "other",        "graph",        "launch",    "sync",      "alloc",     "free",      "fault_gpu", "fault_cpu",
    "migrate_htod", "migrate_dtoh", "failed",    "no_work",   "cpu",       "off_cpu",   "call"};
constexpr std::array<std::string_view, 4> kPhases = {"call_to_queued", "queued_to_submitted", "submitted_to_start",
                                                     "call_to_start"};

static_assert(static_cast<size_t>(FrameKind::truncated) + 1 == kFrameKinds.size());
static_assert(static_cast<size_t>(Op::call) + 1 == kOps.size());
static_assert(static_cast<size_t>(Phase::call_to_start) + 1 == kPhases.size());

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
std::string_view word(Phase phase) {
  return kPhases.at(static_cast<size_t>(phase));
}
std::optional<FrameKind> frame_kind_of(std::string_view text) {
  return find<FrameKind>(kFrameKinds, text);
}
std::optional<Op> op_of(std::string_view text) {
  return find<Op>(kOps, text);
}
std::optional<Phase> phase_of(std::string_view text) {
  return find<Phase>(kPhases, text);
}

}  // namespace gpuprof::profile
