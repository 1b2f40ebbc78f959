// One line of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::symbolize {

struct MapsLine {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  uint64_t device = 0;  // as st_dev has it
  uint64_t inode = 0;
  bool executable = false;
  std::string path;  // as printed, but for escaped newlines; with " (deleted)" where the kernel says so
};

// False for anything that is not such a line.
bool parse_maps_line(std::string_view text, MapsLine& out);

}  // namespace gpuprof::symbolize
