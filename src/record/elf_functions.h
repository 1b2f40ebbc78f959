// Finds functions in an ELF file, for uprobes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuprof::record {

struct ElfFunction {
  size_t wanted = 0;         // index into the names that were asked for
  uint64_t file_offset = 0;  // of the first instruction
};

// Looks in .symtab and .dynsym of the file behind `fd`; undefined symbols are no functions. Each (name, offset) once.
Result<std::vector<ElfFunction>> find_functions(int fd, const std::vector<std::string_view>& names);

// Where a dynamic loader says that it changes what is loaded (_dl_debug_state, the function that debuggers stop at).
struct LoaderProbe {
  uint64_t file_offset = 0;
  uint64_t state = 0;  // address of r_debug.r_state less the function's, modulo 2^64
};

// None: the file is no loader, or not one that tells.
std::optional<LoaderProbe> find_loader_probe(int fd);

}  // namespace gpuprof::record
