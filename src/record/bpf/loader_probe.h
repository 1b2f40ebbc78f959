// Where a dynamic loader tells debuggers that it changes what is loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuprof::record {

struct LoaderProbe {
  uint64_t file_offset = 0;  // of _dl_debug_state(), which it calls before and after each change
  uint64_t state = 0;        // address of r_debug.r_state less the function's, modulo 2^64
};

// By its file name: glibc's.
bool is_loader(std::string_view path);

// None: the file is not as expected. It is read as hostile.
std::optional<LoaderProbe> find_loader_probe(int fd);

}  // namespace gpuprof::record
