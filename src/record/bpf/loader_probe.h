// Finds the function that a dynamic loader calls when the loaded libraries change. It exists for debuggers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "reader/process.h"

namespace gpuprof::record {

struct LoaderProbe {
  // File offset of _dl_debug_state(), which the loader calls before and after each change.
  uint64_t file_offset = 0;
  uint64_t state = 0;  // address of r_debug.r_state minus the address of _dl_debug_state(), modulo 2^64
};

bool is_loader(std::string_view path);

// Returns nullopt if the file lacks the symbols.
std::optional<LoaderProbe> find_loader_probe(reader::Process& reader, int fd);

}  // namespace gpuprof::record
