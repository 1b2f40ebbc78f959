// Reads the sections of an ELF file from which unwind tables are built.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbolize/elf/elf_image.h"
#include "unwind/cfi.h"

namespace gpuprof::unwind {

struct FrameSection {
  std::vector<uint8_t> bytes;  // empty if the file lacks the section
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
  std::vector<CodeRange> code;  // address ranges of the code; sorted and not overlapping

  // SHA-256 of all members: everything from which a table is built. So no file can be made that has the digest of
  // another one, but other sections.
  [[nodiscard]] std::array<uint8_t, 32> digest() const;
  [[nodiscard]] uint64_t size() const { return eh_frame.bytes.size() + debug_frame.bytes.size(); }
  [[nodiscard]] bool is_code(uint64_t address) const;
};

// Uses program headers if the file has no section headers. Returns nullopt if the file is for another architecture, has
// no code, or lacks both sections.
std::optional<FrameSections> read_frame_sections(const symbolize::ElfImage& image);

}  // namespace gpuprof::unwind
