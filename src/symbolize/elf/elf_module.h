// Names the addresses of one ELF file, from its symbols, its separate debug file and its DWARF.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "symbolize/elf/debug_files.h"
#include "symbolize/elf/dwarf_lines.h"
#include "symbolize/elf/elf_image.h"
#include "symbolize/elf/elf_symbols.h"
#include "symbolize/file_names.h"
#include "symbolize/process_maps.h"

namespace gpuprof::symbolize {

class ElfModule {
 public:
  // Null if the file is not open or not ELF. The module keeps `file` and a reference to `budget`, but not
  // `search.files`. `ours`: as counts_as_ours() says.
  static std::unique_ptr<ElfModule> of_file(std::shared_ptr<MappedFile> file, bool ours, const DebugSearch& search,
                                            ReadingBudget& budget);
  // Makes the module of an ELF image in memory, such as the vdso.
  static std::unique_ptr<ElfModule> of_memory(std::vector<uint8_t> bytes, std::string name, ReadingBudget& budget);

  // Returns the virtual address of a byte in a mapping of the file. See ElfImage::vaddr_of.
  [[nodiscard]] std::optional<uint64_t> vaddr_of(uint64_t file_offset, uint64_t mapping_offset) const {
    return image_->vaddr_of(file_offset, mapping_offset);
  }

  // Returns the frames at a virtual address, outermost first; never empty. `files` opens the files that the DWARF
  // names; null: none.
  std::vector<SymbolizedFrame> frames(uint64_t vaddr, DebugFileOpener* files);

  [[nodiscard]] const std::string& build_id() const { return image_->build_id(); }

 private:
  explicit ElfModule(ReadingBudget& budget) : budget_(budget) {}
  void load_symbols();
  void load_mini_debug_info();
  void load_dwarf(DebugFileOpener* files);
  std::string plt_name(uint64_t vaddr);

  ReadingBudget& budget_;
  std::string name_;
  std::shared_ptr<MappedFile> file_;
  bool ours_ = false;
  std::vector<uint8_t> memory_;
  DebugSearch search_;
  std::optional<ElfImage> image_;
  DebugFile debug_file_;
  std::optional<ElfImage> debug_image_;
  std::vector<uint8_t> mini_debug_info_;  // unpacked .gnu_debugdata
  SymbolTable symbols_;
  bool dwarf_tried_ = false;
  std::unique_ptr<DwarfLines> dwarf_;
};

// Returns "[libfoo.so+0x12ab]", the name of an address without a symbol. frames() passes the address at
// which the function begins, if the unwind tables contain it. So all addresses of a function have the same name.
std::string address_name(std::string_view module, uint64_t address);

}  // namespace gpuprof::symbolize
