#include "base/process/process_status.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/files/file.h"
#include "base/files/safe_open.h"

namespace gpuprof {
namespace {

constexpr size_t kMaxStatus = size_t{4} << 20;  // a status with 65536 groups has half a megabyte

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

}  // namespace

std::string read_status(int proc_fd) {
  return read_text(proc_fd, "status", kMaxStatus);
}

std::string read_status_of(uint32_t pid, pid_t thread) {
  const std::string task = thread == 0 ? "" : "/task/" + std::to_string(thread);
  return read_text("/proc/" + std::to_string(pid) + task + "/status", kMaxStatus);
}

UniqueFd open_live_thread(int proc_fd) {
  constexpr int kMostTries = 256;  // a target may have thousands of ended threads
  int tries = 0;
  std::error_code error;
  std::filesystem::directory_iterator threads("/proc/self/fd/" + std::to_string(proc_fd) + "/task", error);
  for (; !error && threads != std::filesystem::directory_iterator() && ++tries <= kMostTries;
       threads.increment(error)) {
    UniqueFd thread = open_directory(AT_FDCWD, threads->path().string());
    if (thread && status_value(read_status(thread.get()), "VmSize")) {
      return thread;
    }
  }
  return {};
}

std::optional<std::string_view> status_value(std::string_view status, std::string_view name) {
  const std::string key = '\n' + std::string(name) + ":\t";
  const size_t found = status.find(key);
  const size_t end = found == std::string_view::npos ? found : status.find('\n', found + key.size());
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view value = status.substr(found + key.size(), end - found - key.size());
  skip_blanks(value);
  return value;
}

template <typename Number>
std::optional<std::vector<Number>> status_numbers(std::string_view status, std::string_view name, int base) {
  std::optional<std::string_view> text = status_value(status, name);
  if (!text) {
    return std::nullopt;
  }
  std::vector<Number> numbers;
  while (!text->empty()) {
    Number number{};
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number, base);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    numbers.push_back(number);
    text->remove_prefix(static_cast<size_t>(end - text->data()));
    skip_blanks(*text);
  }
  return numbers;
}

template std::optional<std::vector<uint32_t>> status_numbers(std::string_view, std::string_view, int);
template std::optional<std::vector<uint64_t>> status_numbers(std::string_view, std::string_view, int);

}  // namespace gpuprof
