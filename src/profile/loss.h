// The reasons why something is missing from a profile. FORMAT.md explains each of them.
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
  unknown_function,
};
inline constexpr size_t kLossReasons = static_cast<size_t>(LossReason::unknown_function) + 1;

enum class Missing : uint8_t {
  work,  // GPU records, and their time
  samples,
  details,  // details of work that is in the profile
};

// Returns the word that stands for the reason in a LOSS line.
std::string_view word(LossReason reason);
std::optional<LossReason> loss_reason_of(std::string_view word);
// Returns the reason for a loss counter of a target. `counted` must be less than GPUPROF_LOSS_COUNT.
LossReason loss_reason_of(gpuprof_loss counted);
Missing missing(LossReason reason);

}  // namespace gpuprof::profile
