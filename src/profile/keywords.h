// Converts enumerators and causes to words in profile lines, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profile/records.h"

namespace gpuprof::profile {

std::string_view word(FrameKind kind);
std::string_view word(Op op);
std::string_view word(Phase phase);
std::optional<FrameKind> frame_kind_of(std::string_view text);
std::optional<Op> op_of(std::string_view text);
std::optional<Phase> phase_of(std::string_view text);

// The names of WORK lines with the operation off_cpu: "waits: futex", or "waits: futex, woken by worker-3".
inline constexpr std::string_view kWokenBy = ", woken by ";

inline std::string off_cpu_name(std::string_view cause, std::string_view waker) {
  return waker.empty() ? std::string(cause) : std::string(cause).append(kWokenBy).append(waker);
}

constexpr std::string_view off_cpu_cause(std::string_view name) {
  return name.substr(0, name.find(kWokenBy));
}

// Returns the name of the thread that woke the thread of the WORK; empty: unknown.
constexpr std::string_view off_cpu_waker(std::string_view name) {
  const size_t at = name.find(kWokenBy);
  return at == std::string_view::npos ? std::string_view() : name.substr(at + kWokenBy.size());
}

}  // namespace gpuprof::profile
