#include <cstring>
#include <optional>

#include "symbolize/elf/plt.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxStub = 16;
constexpr uint64_t kMaxPltRelocations = uint64_t{32} << 20;  // bytes
constexpr size_t kMaxPltName = 64 << 10;

// Returns the address of the GOT slot that a stub jumps through: the operand of `jmp *slot(%rip)` in its 16 bytes.
std::optional<uint64_t> slot_of_stub(const ElfImage& image, const ElfSection& section, uint64_t vaddr) {
  const uint64_t entry_size = section.name == ".plt.got" && section.header.sh_entsize == 8 ? 8 : kMaxStub;
  const uint64_t start = (vaddr - section.header.sh_addr) / entry_size * entry_size;
  uint8_t code[kMaxStub] = {};
  const size_t got = image.source().read_some(section.header.sh_offset + start, code, entry_size);
  for (size_t at = 0; at + 6 <= got; ++at) {
    if (code[at] == 0xff && code[at + 1] == 0x25) {
      int32_t displacement = 0;
      std::memcpy(&displacement, code + at + 2, sizeof displacement);
      return section.header.sh_addr + start + at + 6 + static_cast<uint64_t>(int64_t{displacement});
    }
  }
  return std::nullopt;
}

std::string symbol_name(const ElfImage& image, const ElfSection& relocations, uint64_t index) {
  if (relocations.header.sh_link >= image.sections().size()) {
    return {};
  }
  const Elf64_Shdr& symbols = image.sections()[relocations.header.sh_link].header;
  Elf64_Sym symbol{};
  if (index >= symbols.sh_size / sizeof symbol || symbols.sh_link >= image.sections().size() ||
      !image.source().read(symbols.sh_offset + index * sizeof symbol, &symbol, sizeof symbol)) {
    return {};
  }
  const Elf64_Shdr& strings = image.sections()[symbols.sh_link].header;
  if (symbol.st_name >= strings.sh_size || strings.sh_offset + strings.sh_size < strings.sh_offset) {
    return {};
  }
  return image.source().read_string(strings.sh_offset + symbol.st_name, strings.sh_offset + strings.sh_size,
                                    kMaxPltName);
}

}  // namespace

std::string plt_function(const ElfImage& image, uint64_t vaddr) {
  const ElfSection* section = image.section_at(vaddr);
  if (section == nullptr || !section->has_bytes() || !section->name.starts_with(".plt")) {
    return {};
  }
  const std::optional<uint64_t> slot = slot_of_stub(image, *section, vaddr);
  std::vector<uint8_t> bytes;
  for (const ElfSection& relocations : image.sections()) {
    if (!slot || relocations.header.sh_type != SHT_RELA ||
        !image.read_section(relocations, kMaxPltRelocations, bytes)) {
      continue;
    }
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation{};
      std::memcpy(&relocation, bytes.data() + at, sizeof relocation);
      const uint64_t type = ELF64_R_TYPE(relocation.r_info);
      if (relocation.r_offset == *slot && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)) {
        return symbol_name(image, relocations, ELF64_R_SYM(relocation.r_info));
      }
    }
  }
  return {};
}

}  // namespace gpuprof::symbolize
