#include "record/elf_functions.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "symbolize/elf_image.h"

namespace gpuprof::record {
namespace {

using symbolize::ByteSource;
using symbolize::ElfImage;
using symbolize::ElfSection;

constexpr uint64_t kMaxSymbols = 8 << 20;         // a table; the largest seen in the field have about a million
constexpr size_t kChunk = 16384;                  // symbols read at a time
constexpr uint64_t kMaxNameBytes = 256ULL << 20;  // of a table

using Wanted = std::unordered_map<std::string_view, size_t>;

std::string_view name_at(const std::vector<uint8_t>& names, uint64_t offset) {
  const auto* begin = reinterpret_cast<const char*>(names.data()) + offset;
  return {begin, ::strnlen(begin, names.size() - offset)};
}

class Search {
 public:
  Search(const ElfImage& image, const Wanted& wanted, std::vector<ElfFunction>& found)
      : image_(image), wanted_(wanted), found_(found) {}

  // What cannot be read, and what the file's owner takes away meanwhile, is not searched.
  void table(const ElfSection& section) {
    const auto& sections = image_.sections();
    if (section.header.sh_entsize != sizeof(Elf64_Sym) || section.header.sh_link >= sections.size() ||
        !image_.read_section(sections[section.header.sh_link], kMaxNameBytes, names_)) {
      return;
    }
    const uint64_t count = std::min(section.header.sh_size / sizeof(Elf64_Sym), kMaxSymbols);
    std::vector<Elf64_Sym> chunk(std::min<uint64_t>(count, kChunk));
    for (uint64_t done = 0; done < count;) {
      const size_t want = std::min<uint64_t>(chunk.size(), count - done);
      const uint64_t offset = section.header.sh_offset + done * sizeof(Elf64_Sym);
      const size_t got = image_.source().read_some(offset, chunk.data(), want * sizeof(Elf64_Sym)) / sizeof(Elf64_Sym);
      std::for_each_n(chunk.begin(), got, [this](const Elf64_Sym& symbol) { look_at(symbol); });
      if (got < want) {
        return;
      }
      done += got;
    }
  }

 private:
  void look_at(const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names_.size()) {
      return;
    }
    const auto match = wanted_.find(name_at(names_, symbol.st_name));
    if (match == wanted_.end()) {
      return;
    }
    const std::optional<uint64_t> offset = image_.code_offset_of(symbol.st_value);
    const bool known = !offset || std::any_of(found_.begin(), found_.end(),
                                              [&](const ElfFunction& other) { return other.file_offset == *offset; });
    if (!known) {
      found_.push_back({match->second, *offset});
    }
  }

  const ElfImage& image_;
  const Wanted& wanted_;
  std::vector<ElfFunction>& found_;
  std::vector<uint8_t> names_;  // of the table that is searched
};

}  // namespace

Result<std::vector<ElfFunction>> find_functions(const ByteSource& file, const std::vector<std::string_view>& names) {
  const std::optional<ElfImage> image = ElfImage::parse(file);
  if (!image) {
    return Error{"not an ELF file", ""};
  }
  Wanted wanted;
  for (size_t i = 0; i < names.size(); ++i) {
    wanted.emplace(names[i], i);
  }
  std::vector<ElfFunction> found;
  Search search(*image, wanted, found);
  for (const ElfSection& section : image->sections()) {
    if (section.header.sh_type == SHT_SYMTAB || section.header.sh_type == SHT_DYNSYM) {
      search.table(section);
    }
  }
  return found;
}

Result<std::vector<ElfFunction>> find_functions(int fd, const std::vector<std::string_view>& names) {
  return find_functions(ByteSource::file(fd), names);
}

}  // namespace gpuprof::record
