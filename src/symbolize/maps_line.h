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
  uint64_t device = 0;  // in the form of st_dev
  uint64_t inode = 0;
  bool executable = false;
  std::string path;  // as printed, with newlines unescaped; ends in " (deleted)" if the kernel says so
};

// False: `text` does not have the form of such a line.
bool parse_maps_line(std::string_view text, MapsLine& out);

}  // namespace gpuprof::symbolize
