// Finds symbols of a file in another process, so that no hostile file is parsed in the recorder.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "reader/process.h"
#include "symbolize/elf/elf_functions.h"

namespace gpuprof::reader {

struct FileSymbols {
  std::vector<symbolize::ElfSymbol> found;
  std::optional<uint64_t> mapped;  // virtual address of the byte at the mapping's offset
};

// Searches .symtab and .dynsym of the open file. Finds nothing if it is not an ELF file, if the search takes more than
// 20 s, or if the process fails.
FileSymbols find_symbols(Process& process, int fd, const std::vector<std::string_view>& names,
                         uint64_t mapping_offset = 0);

}  // namespace gpuprof::reader
