// What of an ELF file unwind tables are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "symbolize/elf/elf_image.h"
#include "unwind/cfi.h"

namespace gpuprof::unwind {

struct FrameSection {
  std::vector<uint8_t> bytes;  // empty: the file does not have it
  uint64_t address = 0;

  [[nodiscard]] Bytes view() const { return {bytes.data(), bytes.size(), address}; }
};

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct FrameSections {
  FrameSection eh_frame;
  FrameSection debug_frame;
  std::vector<CodeRange> code;  // sorted, apart from each other

  // Of everything above: tells files with the same build id, but other contents, apart.
  [[nodiscard]] uint64_t hash() const;
  [[nodiscard]] uint64_t size() const { return eh_frame.bytes.size() + debug_frame.bytes.size(); }
  [[nodiscard]] bool is_code(uint64_t address) const;
};

// Nothing where the file is of another architecture, has no code, or has neither section. Files without section headers
// are read by their program headers.
std::optional<FrameSections> read_frame_sections(const symbolize::ElfImage& image);

// Of bytes, 64 bits, fast and not cryptographic.
uint64_t hash_bytes(const void* bytes, size_t size, uint64_t seed);

}  // namespace gpuprof::unwind
