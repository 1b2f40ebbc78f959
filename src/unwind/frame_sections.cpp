#include "unwind/frame_sections.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "unwind/arch.h"

namespace gpuprof::unwind {
namespace {

constexpr uint64_t kMaxSection = uint64_t{256} << 20;
// Limits addresses, so that the sum of two of them does not overflow.
constexpr uint64_t kMaxAddress = uint64_t{1} << 62;

void add_code(FrameSections& found, uint64_t address, uint64_t size) {
  if (size > 0 && size < kMaxAddress && address < kMaxAddress) {
    found.code.push_back({address, address + size});
  }
}

void merge_overlaps(std::vector<CodeRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const CodeRange& a, const CodeRange& b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const CodeRange& range : ranges) {
    if (kept > 0 && range.begin <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

void read_section(const symbolize::ElfImage& image, const char* name, FrameSection& out) {
  const symbolize::ElfSection* section = image.section(name);
  if (section == nullptr || (section->header.sh_flags & SHF_COMPRESSED) != 0 ||
      !image.read_section(*section, kMaxSection, out.bytes)) {
    out.bytes.clear();
    return;
  }
  out.address = section->header.sh_addr;
}

void by_section_headers(const symbolize::ElfImage& image, FrameSections& found) {
  const uint64_t file_bytes = image.source().size();
  for (const symbolize::ElfSection& section : image.sections()) {
    // Excludes sections for which the file has no bytes.
    const bool there = section.header.sh_type != SHT_NOBITS && section.header.sh_offset <= file_bytes &&
                       section.header.sh_size <= file_bytes - section.header.sh_offset;
    if (there && (section.header.sh_flags & SHF_EXECINSTR) != 0) {
      add_code(found, section.header.sh_addr, section.header.sh_size);
    }
  }
  read_section(image, ".eh_frame", found.eh_frame);
  read_section(image, ".debug_frame", found.debug_frame);
}

std::vector<Elf64_Phdr> program_headers(const symbolize::ByteSource& source) {
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> headers;
  if (source.read(0, &header, sizeof header) && header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phnum != PN_XNUM) {
    headers.resize(header.e_phnum);
    if (!source.read(header.e_phoff, headers.data(), headers.size() * sizeof(Elf64_Phdr))) {
      headers.clear();
    }
  }
  return headers;
}

// Locates .eh_frame by the offset in .eh_frame_hdr. The end of .eh_frame is unknown, so everything up to the end of its
// segment is read.
void by_program_headers(const symbolize::ElfImage& image, FrameSections& found) {
  const std::vector<Elf64_Phdr> headers = program_headers(image.source());
  uint64_t frames = 0;
  for (const Elf64_Phdr& one : headers) {
    if (one.p_type == PT_LOAD && (one.p_flags & PF_X) != 0) {
      add_code(found, one.p_vaddr, std::min<uint64_t>(one.p_filesz, image.source().size()));
    }
    uint8_t start[8];
    int32_t offset = 0;
    if (one.p_type == PT_GNU_EH_FRAME && image.source().read(one.p_offset, start, sizeof start) && start[0] == 1 &&
        start[1] == 0x1b) {
      std::memcpy(&offset, start + 4, sizeof offset);
      frames = one.p_vaddr + 4 + static_cast<uint64_t>(int64_t{offset});
    }
  }
  for (const Elf64_Phdr& one : headers) {
    if (frames != 0 && one.p_type == PT_LOAD && frames >= one.p_vaddr && frames - one.p_vaddr < one.p_filesz) {
      const uint64_t skipped = frames - one.p_vaddr;
      if (!image.source().read_range(one.p_offset + skipped, one.p_filesz - skipped, kMaxSection,
                                     found.eh_frame.bytes)) {
        found.eh_frame.bytes.clear();
      }
      found.eh_frame.address = frames;
      return;
    }
  }
}

}  // namespace

std::array<uint8_t, 32> FrameSections::digest() const {
  const auto text = [](const void* bytes, size_t size) {
    return std::string_view(static_cast<const char*>(bytes), size);
  };
  std::string parts;
  const auto add = [&](const void* bytes, size_t size) {
    const auto part = sha256(text(bytes, size));
    parts += text(part.data(), part.size());
  };
  add(code.data(), code.size() * sizeof(CodeRange));
  for (const FrameSection* section : {&eh_frame, &debug_frame}) {
    add(section->bytes.data(), section->bytes.size());
    parts += text(&section->address, sizeof section->address);
  }
  return sha256(parts);
}

bool FrameSections::is_code(uint64_t address) const {
  const auto after = std::upper_bound(code.begin(), code.end(), address,
                                      [](uint64_t value, const CodeRange& range) { return value < range.begin; });
  return after != code.begin() && address < std::prev(after)->end;
}

std::optional<FrameSections> read_frame_sections(const symbolize::ElfImage& image) {
  Elf64_Ehdr header{};
  if (!image.source().read(0, &header, sizeof header) || header.e_machine != NativeArch::kElfMachine) {
    return std::nullopt;
  }
  FrameSections found;
  if (image.sections().empty()) {
    by_program_headers(image, found);
  } else {
    by_section_headers(image, found);
  }
  if (found.code.empty() || found.size() == 0) {
    return std::nullopt;
  }
  merge_overlaps(found.code);
  return found;
}

}  // namespace gpuprof::unwind
