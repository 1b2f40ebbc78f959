// The functions of an ELF file, sorted by address. Names stay in the file and are read when asked for: a library of
// half a million symbols costs 24 bytes each, not its string table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/elf/elf_image.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::symbolize {

struct FoundSymbol {
  uint64_t value = 0;  // virtual address of the function
  uint64_t size = 0;   // bytes; one without a size reaches to the next one
  std::string name;    // mangled
};

class SymbolTable {
 public:
  // Adds the functions of a table, SHT_SYMTAB or SHT_DYNSYM. `image` may die, what its source reads must not.
  // Returns how many functions were added.
  size_t add(const ElfImage& image, uint32_t section_type, ReadingBudget& budget);
  // Sorts and settles sizes and overlaps; to be called once, after the last add().
  void finish();

  [[nodiscard]] std::optional<FoundSymbol> find(uint64_t vaddr) const;
  [[nodiscard]] bool empty() const { return symbols_.empty(); }

 private:
  struct Symbol {
    uint64_t value;
    uint32_t size;
    uint32_t name;  // offset in its string table
    uint32_t room;  // bytes up to the end of its section: the most that a symbol without size may reach
    uint8_t table;  // index into tables_
    uint8_t rank;   // 0 global, 1 weak, 2 local function, 3 label
  };
  struct StringTable {
    ByteSource source;
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  [[nodiscard]] std::string name_of(const Symbol& symbol) const;
  [[nodiscard]] FoundSymbol best_alias(size_t index, uint64_t vaddr) const;
  void settle_sizes();

  std::vector<StringTable> tables_;
  std::vector<Symbol> symbols_;
};

}  // namespace gpuprof::symbolize
