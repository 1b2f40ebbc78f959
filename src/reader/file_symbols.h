// Finds symbols of a file in another process, so that no hostile file is parsed in the recorder.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "reader/process.h"

namespace gpuprof::reader {

struct FileSymbol {
  size_t wanted = 0;  // index into the wanted names
  uint64_t vaddr = 0;
  uint64_t bytes = 0;
  std::optional<uint64_t> code;  // file offset of a function's code; nullopt: an object, or its code is not in the file
};

struct FileSymbols {
  std::vector<FileSymbol> found;
  std::optional<uint64_t> mapped;  // virtual address of the byte at the mapping's offset
};

// Searches .symtab and .dynsym of the open file. Each function's code is found once. nullopt: it is not an ELF file, or
// the search took more than 20 s, or the process gave up.
std::optional<FileSymbols> find_symbols(Process& process, int fd, const std::vector<std::string_view>& names,
                                        uint64_t mapping_offset = 0);

}  // namespace gpuprof::reader
