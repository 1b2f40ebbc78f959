// Finds the function that a dynamic loader calls for debuggers when the loaded libraries change.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuprof::record {

struct LoaderProbe {
  uint64_t file_offset = 0;  // file offset of _dl_debug_state(), called before and after each change
  uint64_t state = 0;        // address of r_debug.r_state minus that of _dl_debug_state(), modulo 2^64
};

// Whether the file is glibc's loader, by its name.
bool is_loader(std::string_view path);

// Returns nullopt if the file lacks the symbols. Its contents are validated.
std::optional<LoaderProbe> find_loader_probe(int fd);

}  // namespace gpuprof::record
