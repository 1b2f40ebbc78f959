// Reads the text of /proc/PID/environ, in which a NUL ends each NAME=value. A process may overwrite this text with
// anything.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace gpuprof::record {

// Returns the values of all variables with this name, in order. The results point into `environment`.
inline std::vector<std::string_view> values_of(std::string_view environment, std::string_view name) {
  std::vector<std::string_view> values;
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      values.push_back(entry.substr(name.size() + 1));
    }
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return values;
}

}  // namespace gpuprof::record
