#include "record/elf_functions.h"

#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace gpuprof::record {
namespace {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

// Where the loader puts address `vaddr` in the file; false if no executable segment holds it.
bool to_file_offset(Elf* elf, uint64_t vaddr, uint64_t& offset) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) != nullptr && header.p_type == PT_LOAD &&
        (header.p_flags & PF_X) != 0 && vaddr >= header.p_vaddr && vaddr - header.p_vaddr < header.p_filesz) {
      offset = vaddr - header.p_vaddr + header.p_offset;
      return true;
    }
  }
  return false;
}

void search_table(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
                  const std::unordered_map<std::string_view, size_t>& wanted, std::vector<ElfFunction>& found) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) {
    return;
  }
  const size_t count = data->d_size / header.sh_entsize;
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
        symbol.st_shndx == SHN_UNDEF) {
      continue;
    }
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    const auto match = name == nullptr ? wanted.end() : wanted.find(name);
    uint64_t offset = 0;
    if (match == wanted.end() || !to_file_offset(elf, symbol.st_value, offset)) {
      continue;
    }
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const ElfFunction& other) { return other.file_offset == offset; });
    if (!known) {
      found.push_back({match->second, offset});
    }
  }
}

}  // namespace

Result<std::vector<ElfFunction>> find_functions(int fd, const std::vector<std::string_view>& names) {
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr));
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) {
    return Error{"not an ELF file", ""};
  }
  std::unordered_map<std::string_view, size_t> wanted;
  for (size_t i = 0; i < names.size(); ++i) {
    wanted.emplace(names[i], i);
  }
  std::vector<ElfFunction> found;
  for (Elf_Scn* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
       section = elf_nextscn(elf.get(), section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)) {
      search_table(elf.get(), section, header, wanted, found);
    }
  }
  return found;
}

}  // namespace gpuprof::record
