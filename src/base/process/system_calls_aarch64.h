// System calls that only aarch64 has, and how seccomp names the processor.
#pragma once

#include <linux/audit.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>

namespace gpuprof {

inline constexpr uint32_t kAuditArch = AUDIT_ARCH_AARCH64;

// This processor has none of the older calls: its calls take a folder's descriptor, or a signal mask.
inline constexpr std::array<long, 0> kOlderForbidden{};
inline constexpr std::array<long, 0> kOlderOpens{};
inline constexpr std::array<long, 0> kOlderPolls{};
inline constexpr std::array<long, 0> kOlderEventPolls{};
inline constexpr std::array<long, 0> kOlderPauses{};

}  // namespace gpuprof
