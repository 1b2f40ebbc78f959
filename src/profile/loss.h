// Why something is missing from a profile: the one list of reasons. FORMAT.md says what each one means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/loss.h"

namespace gpuprof::profile {

enum class LossReason : uint8_t {
  ring_full,
  ring_busy,
  vendor_dropped,
  invalid_timestamp,
  no_timing,
  out_of_memory,
  reentrant,
  unfinished,
  stack_not_taken,
  details_lost,
  kernel_name,
  bpf_ring_full,
  bpf_stack_lost,
  stack_unreadable,
  process_refused,
  malformed,
  range_limit,
  late_name,
  memory_limit,
  samples_dropped,
  timeline_full,
};
inline constexpr size_t kLossReasons = static_cast<size_t>(LossReason::timeline_full) + 1;

// What the profile lacks because of it.
enum class Missing : uint8_t {
  work,     // GPU records, and their time
  samples,  // of GPU code
  details,  // the work is there: something that is said of it is not
};

// As in a LOSS line.
std::string_view word(LossReason reason);
std::optional<LossReason> loss_reason_of(std::string_view word);
// The reason for what a target counts under `counted`, which is below GPUPROF_LOSS_USED.
LossReason loss_reason_of(gpuprof_loss counted);
Missing missing(LossReason reason);

}  // namespace gpuprof::profile
