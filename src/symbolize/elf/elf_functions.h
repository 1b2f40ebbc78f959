// Finds functions in an ELF file, for uprobes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolize/elf/byte_source.h"
#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize {

struct ElfFunction {
  size_t wanted = 0;  // index into the wanted names
  uint64_t file_offset = 0;
};

struct ElfSymbol {  // a function or an object
  size_t wanted = 0;
  uint64_t vaddr = 0;
  uint64_t size = 0;
  std::optional<uint64_t> code;  // file offset of a function's code; nullopt: an object, or its code is not in the file
};

// Searches .symtab and .dynsym of the file `fd`. Returns each function's code once, and ignores undefined symbols.
// Reads the file without mapping it, because the target may truncate it at any time. The work is bounded for hostile
// files. If `stop` returns true, the search ends with an error.
Result<std::vector<ElfFunction>> find_functions(int fd, const std::vector<std::string_view>& names,
                                                const std::function<bool()>& stop = {});
Result<std::vector<ElfSymbol>> find_symbols(const ElfImage& image, const std::vector<std::string_view>& names,
                                            const std::function<bool()>& stop = {});
Result<std::vector<ElfFunction>> find_functions(const ByteSource& file, const std::vector<std::string_view>& names,
                                                const std::function<bool()>& stop = {});

}  // namespace gpuprof::symbolize
