// The lines of /proc/PID/status: what the kernel says of a process. Nothing there is the process's own word: the kernel
// escapes a newline in its name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// The text of a process's status, from its open directory /proc/PID, or by its number; that of one of its threads where
// `thread` is not 0. Empty: there is no such process.
std::string read_status(int proc_fd);
std::string read_status_of(uint32_t pid, pid_t thread = 0);

// What stands behind "Name:\t" and more blanks, up to the end of that line. Nothing: there is no such whole line. The
// first line, the name, is not found.
std::optional<std::string_view> status_value(std::string_view status, std::string_view name);

// The same as numbers, of uint32_t (decimal ids) or uint64_t. Nothing: no such line, or something else is on it.
template <typename Number>
std::optional<std::vector<Number>> status_numbers(std::string_view status, std::string_view name, int base = 10);

}  // namespace gpuprof
