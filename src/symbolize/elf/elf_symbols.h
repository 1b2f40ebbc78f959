// The functions of an ELF file, sorted by address. Reads a name from the file only when it is needed, so a symbol
// takes only 24 bytes of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/elf/elf_image.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::symbolize {

struct FoundSymbol {
  uint64_t value = 0;
  uint64_t size = 0;  // bytes; a symbol without size extends to the next symbol
  std::string name;   // mangled
};

class SymbolTable {
 public:
  // Adds the functions of a table, SHT_SYMTAB or SHT_DYNSYM, and returns their number. `image` may be destroyed
  // before this object, but not the file or memory behind its source.
  size_t add(const ElfImage& image, uint32_t section_type, ReadingBudget& budget);
  // Sorts the functions, and resolves missing sizes and overlaps. Call it once, after the last add().
  void finish();

  [[nodiscard]] std::optional<FoundSymbol> find(uint64_t vaddr) const;
  [[nodiscard]] bool empty() const { return symbols_.empty(); }

 private:
  struct Symbol {
    uint64_t value;
    uint32_t size;
    uint32_t name;  // offset of the name in the string table
    uint32_t room;  // bytes to the end of the symbol's section; limits a symbol without size
    uint8_t table;
    uint8_t rank;  // 0: global, 1: weak, 2: local function, 3: label
  };
  struct StringTable {
    ByteSource source;
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  [[nodiscard]] std::string name_of(const Symbol& symbol) const;
  [[nodiscard]] FoundSymbol best_alias(size_t index, uint64_t vaddr) const;
  void resolve_sizes();

  std::vector<StringTable> tables_;
  std::vector<Symbol> symbols_;
};

}  // namespace gpuprof::symbolize
