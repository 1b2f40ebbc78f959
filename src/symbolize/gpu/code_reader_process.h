// A program that reads GPU code of a target's in a process of its own, as what it does with hostile bytes is not ours.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::symbolize {

struct CodeOwner {  // who made the code
  uid_t uid = 0;
  gid_t gid = 0;
};

struct ReaderLimits {
  std::chrono::milliseconds time{5000};
  size_t output = size_t{64} << 20;  // bytes
  size_t memory = size_t{4} << 30;   // of its address space
};

// Where the program finds the code: its descriptor, and a name for that.
inline constexpr int kCodeFd = 3;
inline constexpr std::string_view kCodeFile = "/proc/self/fd/3";

// What the program prints, or the first part of it where it fails or a limit is reached. It runs without our
// environment, and without root's rights where the owner has none.
std::string run_on_code(const std::string& program, const std::vector<std::string>& arguments,
                        std::span<const std::byte> code, const CodeOwner& owner, const ReaderLimits& limits);

}  // namespace gpuprof::symbolize
