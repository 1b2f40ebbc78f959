#include <cstring>

#include "symbolize/elf/plt_arch.h"

namespace gpuprof::symbolize::arch {
namespace {

constexpr uint64_t kMaxStub = 16;

}  // namespace

// The slot is the operand of `jmp *slot(%rip)` in the 16 bytes of the stub.
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

bool is_function_relocation(uint64_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

bool is_mark(const Elf64_Sym& /*symbol*/) {
  return false;
}

}  // namespace gpuprof::symbolize::arch
