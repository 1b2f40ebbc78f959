// Runs a program on a target's GPU code in a separate process, so that hostile code cannot attack gpuprof.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/stranger.h"
#include "base/unique_fd.h"

namespace gpuprof::symbolize {

struct ReaderLimits {
  std::chrono::milliseconds time{5000};
  size_t output = size_t{64} << 20;  // bytes of output
  size_t memory = size_t{4} << 30;   // bytes of address space
};

// The program opens the file with the code, descriptor kDataFd, by this name.
inline constexpr std::string_view kCodeFile = "/proc/self/fd/3";

// Returns what the program prints. Returns only its beginning if the program fails or a limit is reached. The program
// is a stranger (base/process/stranger.h). `program`: a path, or kOwnProgram, which calls become_stranger() itself.
// `code`: an open file.
std::string run_on_code(const std::string& program, const std::vector<std::string>& arguments, int code,
                        const ReaderLimits& limits);
// Returns a file in memory with these bytes; closed on errors.
UniqueFd code_file(std::span<const std::byte> bytes);
inline constexpr std::string_view kOwnProgram = "/proc/self/exe";
StrangerLimits stranger_limits(const ReaderLimits& limits);

}  // namespace gpuprof::symbolize
