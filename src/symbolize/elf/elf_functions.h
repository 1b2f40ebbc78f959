// Finds functions in an ELF file, for uprobes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolize/elf/byte_source.h"
#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize {

struct ElfFunction {
  size_t wanted = 0;         // index into the names that were asked for
  uint64_t file_offset = 0;  // of the first instruction
};

// A function or an object.
struct ElfSymbol {
  size_t wanted = 0;
  uint64_t vaddr = 0;
  uint64_t size = 0;
  bool is_function = false;
};

// Looks in .symtab and .dynsym of the file behind `fd`; undefined symbols are no functions. Each (name, offset) once.
// The file is read and never mapped: it may be the target's, who may truncate it at any time. Whatever its owner has
// put into it, the work is bounded; `stop` is asked now and then, and a search that it ends is an error.
Result<std::vector<ElfFunction>> find_functions(int fd, const std::vector<std::string_view>& names,
                                                const std::function<bool()>& stop = {});
Result<std::vector<ElfSymbol>> find_symbols(const ElfImage& image, const std::vector<std::string_view>& names,
                                            const std::function<bool()>& stop = {});
Result<std::vector<ElfFunction>> find_functions(const ByteSource& file, const std::vector<std::string_view>& names,
                                                const std::function<bool()>& stop = {});

}  // namespace gpuprof::symbolize
