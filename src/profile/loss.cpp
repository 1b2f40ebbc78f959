#include "profile/loss.h"

#include <algorithm>
#include <array>

namespace gpuprof::profile {
namespace {

struct Entry {
  LossReason reason;
  std::string_view word;
  Missing missing;
};

constexpr std::array<Entry, kLossReasons> kTable = {{
    {LossReason::ring_full, "ring_full", Missing::work},
    {LossReason::ring_busy, "ring_busy", Missing::work},
    {LossReason::vendor_dropped, "vendor_dropped", Missing::work},
    {LossReason::invalid_timestamp, "invalid_timestamp", Missing::work},
    {LossReason::no_timing, "no_timing", Missing::work},
    {LossReason::out_of_memory, "out_of_memory", Missing::work},
    {LossReason::reentrant, "reentrant", Missing::details},
    {LossReason::unfinished, "unfinished", Missing::work},
    {LossReason::stack_not_taken, "stack_not_taken", Missing::details},
    {LossReason::details_lost, "details_lost", Missing::details},
    {LossReason::kernel_name, "kernel_name", Missing::details},
    {LossReason::bpf_ring_full, "bpf_ring_full", Missing::details},
    {LossReason::bpf_stack_lost, "bpf_stack_lost", Missing::details},
    {LossReason::stack_unreadable, "stack_unreadable", Missing::details},
    {LossReason::process_refused, "process_refused", Missing::details},
    {LossReason::malformed, "malformed", Missing::work},
    {LossReason::range_limit, "range_limit", Missing::details},
    {LossReason::late_name, "late_name", Missing::details},
    {LossReason::memory_limit, "memory_limit", Missing::details},
    {LossReason::samples_dropped, "samples_dropped", Missing::samples},
    {LossReason::timeline_full, "timeline_full", Missing::details},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].reason != static_cast<LossReason>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(in_order());

const Entry& entry(LossReason reason) {
  return kTable.at(static_cast<size_t>(reason));
}

}  // namespace

std::string_view word(LossReason reason) {
  return entry(reason).word;
}

std::optional<LossReason> loss_reason_of(std::string_view word) {
  const auto* const found =
      std::find_if(kTable.begin(), kTable.end(), [word](const Entry& known) { return known.word == word; });
  return found == kTable.end() ? std::nullopt : std::optional(found->reason);
}

Missing missing(LossReason reason) {
  return entry(reason).missing;
}

}  // namespace gpuprof::profile
