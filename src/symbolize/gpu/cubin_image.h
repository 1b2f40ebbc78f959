// Parses a cubin, NVIDIA's ELF file with the code for one GPU architecture. All of the file may be hostile.
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
  std::string_view name;  // mangled
  // The section that contains the function. Each kernel has its own section, which also holds the functions that only
  // this kernel calls.
  uint32_t section = 0;
  uint64_t begin = 0;  // offset in the section
  uint64_t size = 0;
  uint32_t symbol = 0;
  uint8_t rank = 0;     // 0: global, 1: weak, 2: local
  bool kernel = false;  // otherwise, it is a function that kernels call
};

// The eight bytes at `place` of another section stand for an address: the one `offset` bytes into `section`.
struct CubinRelocation {
  uint64_t place = 0;
  uint64_t offset = 0;
  uint32_t section = 0;
};

class CubinImage {
 public:
  // nullopt: not a cubin. The bytes must outlive the object and its results.
  static std::optional<CubinImage> open(std::span<const std::byte> bytes);

  // Returns the bytes of the first section with that name, or an empty span.
  [[nodiscard]] std::span<const uint8_t> section(std::string_view name) const;
  [[nodiscard]] std::vector<CubinFunction> functions() const;  // in the order of the symbol table
  // The relocations of the first section with that name, sorted by CubinRelocation::place.
  [[nodiscard]] std::vector<CubinRelocation> relocations(std::string_view name) const;

  // Returns the GPU architecture, for example "sm_90a", or an empty string if it is unknown.
  [[nodiscard]] std::string architecture() const;
  // Returns the assembler's options, for example "-lineinfo  -arch sm_90 -m 64". Empty if unknown: older files do not
  // store them.
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
