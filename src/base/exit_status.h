// Exit statuses of gpuprof itself. If `record` can record, it exits with the status of the target instead.
#pragma once

namespace gpuprof {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitCoverage = 3;  // the profile's coverage is below --min-coverage
inline constexpr int kExitNothing = 4;   // the profile is readable, but holds nothing that was requested
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace gpuprof
