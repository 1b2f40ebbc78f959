// A cubin: the ELF file that NVIDIA's tools make of the code for one GPU architecture. Everything in it is hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize {

struct CubinFunction {
  std::string_view name;  // mangled, as the file has it
  uint32_t section = 0;   // its code: each kernel has a section, with the functions that only it calls
  uint64_t begin = 0;     // in the section
  uint64_t size = 0;
  uint32_t symbol = 0;  // its number in the symbol table
  uint8_t rank = 0;     // 0 global, 1 weak, 2 local
  bool kernel = false;  // else it is called by kernels
};

// Eight bytes at `place` in the section that was asked for will be the address of `offset` in `section`.
struct CubinRelocation {
  uint64_t place = 0;
  uint64_t offset = 0;
  uint32_t section = 0;
};

class CubinImage {
 public:
  // Nothing when it is not a cubin. The bytes must outlive the object and what it gives out.
  static std::optional<CubinImage> open(std::span<const std::byte> bytes);

  // The bytes of the first section of that name; empty where there is none.
  [[nodiscard]] std::span<const uint8_t> section(std::string_view name) const;
  // In the order of the symbol table.
  [[nodiscard]] std::vector<CubinFunction> functions() const;
  // Of the first section of that name, sorted by place.
  [[nodiscard]] std::vector<CubinRelocation> relocations(std::string_view name) const;

  // "sm_90a". Empty where the file does not say.
  [[nodiscard]] std::string architecture() const;
  // What the assembler was told: "-lineinfo  -arch sm_90 -m 64". Empty where the file does not say: older ones do not.
  [[nodiscard]] std::string_view options() const;

 private:
  CubinImage(std::span<const uint8_t> bytes, ElfImage elf) : bytes_(bytes), elf_(std::move(elf)) {}
  [[nodiscard]] std::span<const uint8_t> bytes_of(const Elf64_Shdr& section) const;
  [[nodiscard]] std::vector<CubinRelocation> read_relocations(const Elf64_Shdr& section,
                                                              std::span<const uint8_t> target) const;

  std::span<const uint8_t> bytes_;
  ElfImage elf_;
};

}  // namespace gpuprof::symbolize
