#include "symbolize/elf/elf_image.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text/hex.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxSections = 1 << 17;  // object files built with -ffunction-sections have tens of thousands
constexpr uint64_t kMaxSectionNames = 16 << 20;
constexpr uint64_t kMaxNoteBytes = 1 << 16;

// The page size decides how the kernel has mapped the segments of a file.
const uint64_t page_size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));

uint64_t page_floor(uint64_t value) {
  return value & ~(page_size - 1);
}
uint64_t align4(uint64_t value) {
  return (value + 3) & ~uint64_t{3};
}

// Returns the GNU build id in `notes` as hex, or an empty string.
std::string build_id_of(const std::vector<uint8_t>& notes) {
  size_t at = 0;
  while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note{};
    std::memcpy(&note, notes.data() + at, sizeof note);
    at += sizeof note;
    const uint64_t name_size = align4(note.n_namesz);
    const uint64_t rest = notes.size() - at;
    if (name_size > rest || note.n_descsz > rest - name_size) {
      return {};
    }
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes.data() + at, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz > 0 && note.n_descsz <= 64) {
      return hex_text({notes.data() + at + name_size, note.n_descsz});
    }
    at += std::min<uint64_t>(rest, name_size + align4(note.n_descsz));
  }
  return {};
}

}  // namespace

std::optional<ElfImage> ElfImage::parse(ByteSource source) {
  Elf64_Ehdr header{};
  if (!source.read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  ElfImage image(source);
  if (!image.read_segments(header)) {
    return std::nullopt;
  }
  image.read_sections(header);
  image.find_build_id();
  return image;
}

bool ElfImage::read_segments(const Elf64_Ehdr& header) {
  if (header.e_phnum == 0) {
    // A file without segments is valid: some debug files and all relocatable files have none.
    return true;
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == PN_XNUM) {
    return false;
  }
  std::vector<Elf64_Phdr> all(header.e_phnum);
  if (!source_.read(header.e_phoff, all.data(), all.size() * sizeof(Elf64_Phdr))) {
    return false;
  }
  std::copy_if(all.begin(), all.end(), std::back_inserter(segments_),
               [](const Elf64_Phdr& segment) { return segment.p_type == PT_LOAD || segment.p_type == PT_NOTE; });
  return true;
}

void ElfImage::read_sections(const Elf64_Ehdr& header) {
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return;
  }
  // Section 0 holds counts that do not fit into the ELF header.
  Elf64_Shdr first{};
  if (!source_.read(header.e_shoff, &first, sizeof first)) {
    return;
  }
  const uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const uint64_t names_index = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  if (count == 0 || count > kMaxSections) {
    return;
  }
  std::vector<Elf64_Shdr> headers(count);
  if (!source_.read(header.e_shoff, headers.data(), headers.size() * sizeof(Elf64_Shdr))) {
    return;
  }
  std::vector<uint8_t> names;
  if (names_index < count) {
    const Elf64_Shdr& table = headers[names_index];
    if (!source_.read_range(table.sh_offset, table.sh_size, kMaxSectionNames, names)) {
      names.clear();
    }
  }
  sections_.reserve(count);
  for (const Elf64_Shdr& one : headers) {
    ElfSection section;
    section.header = one;
    if (one.sh_name < names.size()) {
      const char* name = reinterpret_cast<const char*>(names.data()) + one.sh_name;
      section.name.assign(name, ::strnlen(name, std::min<size_t>(names.size() - one.sh_name, 256)));
    }
    sections_.push_back(std::move(section));
  }
}

void ElfImage::find_build_id() {
  std::vector<uint8_t> notes;
  for (const ElfSection& section : sections_) {
    if (section.header.sh_type == SHT_NOTE && read_section(section, kMaxNoteBytes, notes)) {
      build_id_ = build_id_of(notes);
    }
    if (!build_id_.empty()) {
      return;
    }
  }
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_NOTE && source_.read_range(segment.p_offset, segment.p_filesz, kMaxNoteBytes, notes)) {
      build_id_ = build_id_of(notes);
    }
    if (!build_id_.empty()) {
      return;
    }
  }
}

const ElfSection* ElfImage::section(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [name](const ElfSection& section) { return section.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

const ElfSection* ElfImage::section_of_type(uint32_t type) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [type](const ElfSection& section) { return section.header.sh_type == type; });
  return found == sections_.end() ? nullptr : &*found;
}

const ElfSection* ElfImage::section_at(uint64_t vaddr) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(), [vaddr](const ElfSection& section) {
    return (section.header.sh_flags & SHF_ALLOC) != 0 && vaddr >= section.header.sh_addr &&
           vaddr - section.header.sh_addr < section.header.sh_size;
  });
  return found == sections_.end() ? nullptr : &*found;
}

std::optional<uint64_t> vaddr_in(const std::vector<Elf64_Phdr>& segments, uint64_t file_offset,
                                 uint64_t mapping_offset) {
  const Elf64_Phdr* best = nullptr;
  int best_score = 0;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || file_offset < page_floor(segment.p_offset)) {
      continue;
    }
    const bool inside = file_offset >= segment.p_offset && file_offset - segment.p_offset < segment.p_filesz;
    // A mapping consists of complete pages, so it also contains bytes that are not in the segment.
    const bool in_pages = file_offset - page_floor(segment.p_offset) <
                          page_floor(segment.p_filesz + (segment.p_offset & (page_size - 1)) + page_size - 1);
    if (!inside && !in_pages) {
      continue;
    }
    const int score = 1 + (inside ? 1 : 0) + (page_floor(segment.p_offset) == mapping_offset ? 2 : 0) +
                      ((segment.p_flags & PF_X) != 0 ? 4 : 0);
    if (score > best_score) {
      best = &segment;
      best_score = score;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  return file_offset - best->p_offset + best->p_vaddr;
}

std::optional<uint64_t> ElfImage::code_offset_of(uint64_t vaddr) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && vaddr >= segment.p_vaddr &&
        vaddr - segment.p_vaddr < segment.p_filesz) {
      const uint64_t within = vaddr - segment.p_vaddr;
      if (segment.p_offset >= source_.size() || within >= source_.size() - segment.p_offset) {
        return std::nullopt;
      }
      return segment.p_offset + within;
    }
  }
  return std::nullopt;
}

bool ElfImage::read_section(const ElfSection& section, uint64_t limit, std::vector<uint8_t>& out) const {
  return section.has_bytes() && source_.read_range(section.header.sh_offset, section.header.sh_size, limit, out);
}

}  // namespace gpuprof::symbolize
