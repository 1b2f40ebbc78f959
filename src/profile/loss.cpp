#include "profile/loss.h"

#include <algorithm>
#include <array>

namespace gpuprof::profile {
namespace {

struct Entry {
  LossReason reason;
  std::string_view word;
  Missing missing;
  // The counter that a target increments for this reason. GPUPROF_LOSS_COUNT: only the recorder counts the reason.
  gpuprof_loss counted = GPUPROF_LOSS_COUNT;
};

constexpr std::array<Entry, kLossReasons> kTable = {{
    {LossReason::ring_full, "ring_full", Missing::work, GPUPROF_LOSS_RING_FULL},
    {LossReason::ring_busy, "ring_busy", Missing::work, GPUPROF_LOSS_RING_BUSY},
    {LossReason::vendor_dropped, "vendor_dropped", Missing::work, GPUPROF_LOSS_VENDOR_DROPPED},
    {LossReason::invalid_timestamp, "invalid_timestamp", Missing::work, GPUPROF_LOSS_INVALID_TIMESTAMP},
    {LossReason::no_timing, "no_timing", Missing::work, GPUPROF_LOSS_NO_TIMING},
    {LossReason::out_of_memory, "out_of_memory", Missing::work, GPUPROF_LOSS_OUT_OF_MEMORY},
    {LossReason::reentrant, "reentrant", Missing::details, GPUPROF_LOSS_REENTRANT},
    {LossReason::unfinished, "unfinished", Missing::work, GPUPROF_LOSS_UNFINISHED},
    {LossReason::stack_not_taken, "stack_not_taken", Missing::details, GPUPROF_LOSS_STACK},
    {LossReason::details_lost, "details_lost", Missing::details, GPUPROF_LOSS_DETAIL},
    {LossReason::kernel_name, "kernel_name", Missing::details, GPUPROF_LOSS_KERNEL_NAME},
    {LossReason::bpf_ring_full, "bpf_ring_full", Missing::details},
    {LossReason::bpf_stack_lost, "bpf_stack_lost", Missing::details},
    {LossReason::stack_unreadable, "stack_unreadable", Missing::details},
    {LossReason::process_refused, "process_refused", Missing::details},
    {LossReason::malformed, "malformed", Missing::work},
    {LossReason::range_limit, "range_limit", Missing::details, GPUPROF_LOSS_RANGE_LIMIT},
    {LossReason::late_name, "late_name", Missing::details},
    {LossReason::memory_limit, "memory_limit", Missing::details},
    {LossReason::samples_dropped, "samples_dropped", Missing::samples},
    {LossReason::timeline_full, "timeline_full", Missing::details},
    {LossReason::unknown_function, "unknown_function", Missing::work, GPUPROF_LOSS_UNKNOWN_FUNCTION},
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

constexpr const Entry* row_of(gpuprof_loss counted) {
  return std::find_if(kTable.begin(), kTable.end(), [counted](const Entry& known) { return known.counted == counted; });
}

constexpr bool targets_have_rows() {
  for (int counted = 0; counted < GPUPROF_LOSS_COUNT; ++counted) {
    if (row_of(static_cast<gpuprof_loss>(counted)) == kTable.end()) {
      return false;
    }
  }
  return true;
}
static_assert(targets_have_rows());

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

LossReason loss_reason_of(gpuprof_loss counted) {
  return row_of(counted)->reason;
}

Missing missing(LossReason reason) {
  return entry(reason).missing;
}

}  // namespace gpuprof::profile
