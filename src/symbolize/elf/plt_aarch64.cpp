#include <algorithm>
#include <array>
#include <cstring>

#include "symbolize/elf/plt_arch.h"

namespace gpuprof::symbolize::arch {
namespace {

// Instructions of a stub: `adrp x16, page`, `ldr x17, [x16, offset]`, `add x16, x16, offset`, `br x17`. Before them may
// be `bti c`, before the branch `autia1716`, and after it `nop`.
constexpr size_t kMaxStub = 6;
constexpr uint32_t kBranch = 0xd61f0220;

bool is_page_address(uint32_t instruction) {
  return (instruction & 0x9f00001f) == 0x90000010;
}
bool is_load(uint32_t instruction) {
  return (instruction & 0xffc003ff) == 0xf9400211;
}

}  // namespace

// Reads the instructions before and after `vaddr`, as the size of a stub depends on the linker and its options.
std::optional<uint64_t> slot_of_stub(const ElfImage& image, const ElfSection& section, uint64_t vaddr) {
  std::array<uint32_t, 2 * kMaxStub - 1> code{};
  const uint64_t at = (vaddr - section.header.sh_addr) / sizeof(uint32_t);
  const uint64_t first = at - std::min<uint64_t>(at, kMaxStub - 1);
  const uint64_t left = section.header.sh_size / sizeof(uint32_t) - first;
  const size_t wanted = std::min<uint64_t>(left, at - first + kMaxStub) * sizeof(uint32_t);
  const size_t got = image.source().read_some(section.header.sh_offset + first * sizeof(uint32_t), code.data(), wanted);
  const auto end = code.begin() + static_cast<ptrdiff_t>(got / sizeof(uint32_t));
  const auto branch = std::find(std::min(end, code.begin() + static_cast<ptrdiff_t>(at - first)), end, kBranch);
  if (branch == end) {
    return std::nullopt;
  }
  const auto begin = branch - std::min<ptrdiff_t>(branch - code.begin(), kMaxStub - 1);
  const auto load = std::find_if(begin, branch, is_load);
  if (load == branch || load == code.begin() || !is_page_address(load[-1])) {
    return std::nullopt;
  }
  constexpr uint64_t kPage = 4096;  // of the instruction, whatever the kernel's page size is
  const uint64_t pc =
      section.header.sh_addr + (first + static_cast<uint64_t>(load - 1 - code.begin())) * sizeof(uint32_t);
  const uint32_t immediate = (load[-1] >> 5 & 0x7ffff) << 2 | (load[-1] >> 29 & 3);
  const int64_t pages = static_cast<int64_t>(uint64_t{immediate} << 43) >> 43;  // 21 bits, signed
  const uint64_t offset = (*load >> 10 & 0xfff) * sizeof(uint64_t);
  return (pc & ~(kPage - 1)) + static_cast<uint64_t>(pages) * kPage + offset;
}

bool is_function_relocation(uint64_t type) {
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

// Assemblers mark each change between code ("$x") and data ("$d"). There are many marks, so their names are not read.
bool is_mark(const Elf64_Sym& symbol) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
}

}  // namespace gpuprof::symbolize::arch
