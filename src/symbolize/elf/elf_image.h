// Parses and checks the headers of a 64-bit little-endian ELF file. All of the file may be hostile.
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

// Returns the virtual address of the byte at `file_offset` in a file's executable segment. `mapping_offset`, the file
// offset of the mapping, distinguishes two segments that share a page of the file.
std::optional<uint64_t> vaddr_in(const std::vector<Elf64_Phdr>& segments, uint64_t file_offset,
                                 uint64_t mapping_offset);

class ElfImage {
 public:
  // nullopt: `source` does not start with the header of a 64-bit little-endian ELF file.
  static std::optional<ElfImage> parse(ByteSource source);

  [[nodiscard]] const ByteSource& source() const { return source_; }
  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  [[nodiscard]] const ElfSection* section(std::string_view name) const;
  [[nodiscard]] const ElfSection* section_at(uint64_t vaddr) const;
  [[nodiscard]] const ElfSection* section_of_type(uint32_t type) const;
  [[nodiscard]] const std::string& build_id() const { return build_id_; }  // lower-case hex; empty if the file has none

  [[nodiscard]] const std::vector<Elf64_Phdr>& segments() const { return segments_; }  // PT_LOAD and PT_NOTE
  // See vaddr_in().
  [[nodiscard]] std::optional<uint64_t> vaddr_of(uint64_t file_offset, uint64_t mapping_offset) const {
    return vaddr_in(segments_, file_offset, mapping_offset);
  }

  // Returns the file offset of the byte at a virtual address in an executable segment.
  [[nodiscard]] std::optional<uint64_t> code_offset_of(uint64_t vaddr) const;

  [[nodiscard]] bool read_section(const ElfSection& section, uint64_t limit, std::vector<uint8_t>& out) const;

 private:
  explicit ElfImage(ByteSource source) : source_(source) {}
  [[nodiscard]] bool read_segments(const Elf64_Ehdr& header);
  void read_sections(const Elf64_Ehdr& header);
  void find_build_id();

  ByteSource source_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<ElfSection> sections_;
  std::string build_id_;
};

}  // namespace gpuprof::symbolize
