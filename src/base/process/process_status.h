// Reads /proc/PID/status. All its data is from the kernel, which escapes newlines in the process name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace gpuprof {

// Returns the status of a process, given by its open /proc/PID or its pid. If `thread` is not 0, returns the status
// of that thread. Empty if the process has ended.
std::string read_status(int proc_fd);
std::string read_status_of(uint32_t pid, pid_t thread = 0);

// Opens /proc/PID/task/TID of a thread that still has memory, given the open /proc/PID. If the main thread has ended,
// /proc/PID itself shows no memory. Invalid: no such thread. Tries at most 256 threads.
UniqueFd open_live_thread(int proc_fd);

// Returns the text after "Name:" and the blanks that follow. Skips the first line. nullopt: no complete line has this
// name.
std::optional<std::string_view> status_value(std::string_view status, std::string_view name);

// Like status_value(), but returns the numbers in the text: uint32_t for ids, uint64_t for masks (then `base` is 16).
// Returns nullopt if the line is missing or contains anything else.
template <typename Number>
std::optional<std::vector<Number>> status_numbers(std::string_view status, std::string_view name, int base = 10);

}  // namespace gpuprof
