#include "symbolize/elf/plt.h"

#include <cstring>
#include <optional>
#include <vector>

#include "symbolize/elf/plt_arch.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxPltRelocations = uint64_t{32} << 20;  // bytes
constexpr size_t kMaxPltName = 64 << 10;

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
  const std::optional<uint64_t> slot = arch::slot_of_stub(image, *section, vaddr);
  std::vector<uint8_t> bytes;
  for (const ElfSection& relocations : image.sections()) {
    if (!slot || relocations.header.sh_type != SHT_RELA ||
        !image.read_section(relocations, kMaxPltRelocations, bytes)) {
      continue;
    }
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation{};
      std::memcpy(&relocation, bytes.data() + at, sizeof relocation);
      if (relocation.r_offset == *slot && arch::is_function_relocation(ELF64_R_TYPE(relocation.r_info))) {
        return symbol_name(image, relocations, ELF64_R_SYM(relocation.r_info));
      }
    }
  }
  return {};
}

}  // namespace gpuprof::symbolize
