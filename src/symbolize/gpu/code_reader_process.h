// Runs a program on a target's GPU code in a separate process, so that hostile code cannot attack gpuprof.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::symbolize {

struct CodeOwner {  // the user and group that made the code
  uid_t uid = 0;
  gid_t gid = 0;
};

struct ReaderLimits {
  std::chrono::milliseconds time{5000};
  size_t output = size_t{64} << 20;  // bytes of output
  size_t memory = size_t{4} << 30;   // bytes of address space
};

// The file with the code is open in the child under this descriptor number. The child opens it by the name below.
inline constexpr int kCodeFd = 3;
inline constexpr std::string_view kCodeFile = "/proc/self/fd/3";

// Returns what the program prints. Returns only its beginning if the program fails or a limit is reached. The program's
// environment is only LC_ALL=C. If `owner` is not root, the program has no root rights.
std::string run_on_code(const std::string& program, const std::vector<std::string>& arguments,
                        std::span<const std::byte> code, const CodeOwner& owner, const ReaderLimits& limits);

}  // namespace gpuprof::symbolize
