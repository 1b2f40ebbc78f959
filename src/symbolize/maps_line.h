// Parses one line of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::symbolize {

struct MapsLine {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  uint64_t device = 0;  // device number as in st_dev
  uint64_t inode = 0;
  bool executable = false;
  // The path as the kernel prints it, but with real newlines. Ends in " (deleted)" if the file was deleted.
  std::string path;
};

// Returns false if `text` is not a line of /proc/PID/maps.
bool parse_maps_line(std::string_view text, MapsLine& out);

}  // namespace gpuprof::symbolize
