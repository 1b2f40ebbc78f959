#include "symbolize/gpu/code_reader_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace gpuprof::symbolize {
namespace {

constexpr int kPollMs = 100;

std::string read_all(int fd, const ReaderLimits& limits) {
  const uint64_t end = monotonic_ns() + static_cast<uint64_t>(limits.time.count()) * 1'000'000;
  std::string text;
  std::array<char, 65536> chunk{};
  while (text.size() < limits.output && monotonic_ns() < end) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) <= 0) {
      continue;
    }
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    text.append(chunk.data(), std::min(static_cast<size_t>(got), limits.output - text.size()));
  }
  return text;
}

}  // namespace

UniqueFd code_file(std::span<const std::byte> bytes) {
  UniqueFd file(::memfd_create("code", MFD_CLOEXEC));
  while (file && !bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return UniqueFd();
    }
    bytes = bytes.subspan(written > 0 ? static_cast<size_t>(written) : 0);
  }
  return file;
}

StrangerLimits stranger_limits(const ReaderLimits& limits) {
  return {.cpu_seconds = static_cast<uint64_t>(limits.time.count()) / 1000 + 1, .address_space = limits.memory};
}

std::string run_on_code(const std::string& program, const std::vector<std::string>& arguments, int code,
                        const ReaderLimits& limits) {
  std::array<int, 2> ends{};
  if (code < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  const UniqueFd output(ends[0]);
  UniqueFd ours(ends[1]);
  const UniqueFd process = start_stranger({.program = program,
                                           .arguments = arguments,
                                           .data = code,
                                           .output = ours.get(),
                                           .foreign = program != kOwnProgram,
                                           .limits = stranger_limits(limits)});
  ours.reset();
  if (!process) {
    return {};
  }
  std::string text = read_all(output.get(), limits);
  end_stranger(process);
  return text;
}

}  // namespace gpuprof::symbolize
