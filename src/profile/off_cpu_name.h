// The names of WORK lines with the operation off_cpu: "waits: futex", or "waits: futex, woken by worker-3".
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::profile {

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
