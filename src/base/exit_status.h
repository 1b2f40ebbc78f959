// Exit statuses of gpuprof itself. If recording works, `record` exits with the status of the target.
#pragma once

namespace gpuprof {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitCoverage = 3;  // the profile's coverage is below --min-coverage
inline constexpr int kExitNothing = 4;   // the profile is readable, but does not hold what was requested
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace gpuprof
