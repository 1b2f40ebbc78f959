// Reads /proc/PID/status. All its data is from the kernel, which escapes newlines in the process name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// Returns the status of a process (by its open /proc/PID, or its pid), or of `thread` if not 0. Empty: it is gone.
std::string read_status(int proc_fd);
std::string read_status_of(uint32_t pid, pid_t thread = 0);

// Returns the text after "Name:" and blanks. Does not search the first line. nullopt: no such complete line.
std::optional<std::string_view> status_value(std::string_view status, std::string_view name);

// Like status_value(), but parses the value as numbers: uint32_t for ids, uint64_t for masks (`base` 16). Returns
// nullopt if the line is missing, or has other text.
template <typename Number>
std::optional<std::vector<Number>> status_numbers(std::string_view status, std::string_view name, int base = 10);

}  // namespace gpuprof
