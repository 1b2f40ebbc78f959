// The headers of a 64-bit little-endian ELF file, checked: everything in them is hostile.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/elf/byte_source.h"

namespace gpuprof::symbolize {

struct ElfSection {
  std::string name;
  Elf64_Shdr header{};

  [[nodiscard]] bool has_bytes() const { return header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL; }
};

class ElfImage {
 public:
  // Nothing when `source` does not start with an ELF header of our kind.
  static std::optional<ElfImage> parse(ByteSource source);

  [[nodiscard]] const ByteSource& source() const { return source_; }
  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  [[nodiscard]] const ElfSection* section(std::string_view name) const;
  [[nodiscard]] const ElfSection* section_at(uint64_t vaddr) const;
  [[nodiscard]] const ElfSection* section_of_type(uint32_t type) const;
  [[nodiscard]] const std::string& build_id() const { return build_id_; }  // lower-case hex; may be empty

  // The virtual address that the byte at `file_offset` has in the file's executable segment. `mapping_offset` is
  // where the mapping begins in the file: linkers let two segments share a page of the file, and it tells them apart.
  [[nodiscard]] std::optional<uint64_t> vaddr_of(uint64_t file_offset, uint64_t mapping_offset) const;

  // Where the byte that an executable segment of the file has at a virtual address is in the file.
  [[nodiscard]] std::optional<uint64_t> code_offset_of(uint64_t vaddr) const;

  [[nodiscard]] bool read_section(const ElfSection& section, uint64_t limit, std::vector<uint8_t>& out) const;

 private:
  explicit ElfImage(ByteSource source) : source_(source) {}
  [[nodiscard]] bool read_segments(const Elf64_Ehdr& header);
  void read_sections(const Elf64_Ehdr& header);
  void find_build_id();

  ByteSource source_;
  std::vector<Elf64_Phdr> segments_;  // PT_LOAD and PT_NOTE
  std::vector<ElfSection> sections_;
  std::string build_id_;
};

std::string to_hex(const uint8_t* bytes, size_t size);

}  // namespace gpuprof::symbolize
