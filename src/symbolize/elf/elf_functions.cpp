#include "symbolize/elf/elf_functions.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "base/return_if_error.h"
#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxSymbols = 8 << 20;  // per symbol table; the largest known tables have about a million
constexpr size_t kChunk = 16384;
constexpr uint64_t kMaxFunctionNameBytes = 256ULL << 20;  // bytes of the string table that belongs to one symbol table
constexpr int kMaxMatches = 4096;  // limit of symbols with a wanted name; a file has one or two per name

using Wanted = std::unordered_map<std::string_view, size_t>;

class Search {
 public:
  Search(const ElfImage& image, const Wanted& wanted, const std::function<bool()>& stop)
      : image_(image), wanted_(wanted), stop_(stop) {
    for (const auto& [name, index] : wanted) {
      longest_ = std::max(longest_, name.size());
    }
  }

  // Searches one symbol table. Skips unreadable parts, because the file may shrink during the search. Returns false
  // if `stop` ended the search.
  [[nodiscard]] bool table(const ElfSection& section) {
    const auto& sections = image_.sections();
    if (section.header.sh_entsize != sizeof(Elf64_Sym) || section.header.sh_link >= sections.size() ||
        !image_.read_section(sections[section.header.sh_link], kMaxFunctionNameBytes, names_)) {
      return true;
    }
    const uint64_t count = std::min(section.header.sh_size / sizeof(Elf64_Sym), kMaxSymbols);
    std::vector<Elf64_Sym> chunk(std::min<uint64_t>(count, kChunk));
    for (uint64_t done = 0; done < count;) {
      if (matches_ > kMaxMatches || (stop_ && stop_())) {
        return false;
      }
      const size_t want = std::min<uint64_t>(chunk.size(), count - done);
      const uint64_t offset = section.header.sh_offset + done * sizeof(Elf64_Sym);
      const size_t got = image_.source().read_some(offset, chunk.data(), want * sizeof(Elf64_Sym)) / sizeof(Elf64_Sym);
      std::for_each_n(chunk.begin(), got, [this](const Elf64_Sym& symbol) { look_at(symbol); });
      if (got < want) {
        break;
      }
      done += got;
    }
    return matches_ <= kMaxMatches;
  }

  [[nodiscard]] std::vector<ElfSymbol> take_found() { return std::move(found_); }

 private:
  void look_at(const Elf64_Sym& symbol) {
    const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if ((!is_function && ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) || symbol.st_shndx == SHN_UNDEF ||
        symbol.st_name >= names_.size()) {
      return;
    }
    // Compares at most longest_ + 1 bytes. In a table without NULs, each name would extend to the end of the table.
    const auto* begin = reinterpret_cast<const char*>(names_.data()) + symbol.st_name;
    const size_t length = ::strnlen(begin, std::min<size_t>(names_.size() - symbol.st_name, longest_ + 1));
    const auto match = length <= longest_ ? wanted_.find({begin, length}) : wanted_.end();
    if (match == wanted_.end() || ++matches_ > kMaxMatches) {
      return;
    }
    const auto code = is_function ? image_.code_offset_of(symbol.st_value) : std::nullopt;
    if (!code || std::none_of(found_.begin(), found_.end(), [&](const ElfSymbol& one) { return one.code == code; })) {
      found_.push_back({match->second, symbol.st_value, symbol.st_size, code});
    }
  }

  const ElfImage& image_;
  const Wanted& wanted_;
  const std::function<bool()>& stop_;
  size_t longest_ = 0;
  int matches_ = 0;
  std::vector<ElfSymbol> found_;
  std::vector<uint8_t> names_;
};

}  // namespace

Result<std::vector<ElfSymbol>> find_symbols(const ElfImage& image, const std::vector<std::string_view>& names,
                                            const std::function<bool()>& stop) {
  Wanted wanted;
  for (size_t i = 0; i < names.size(); ++i) {
    wanted.emplace(names[i], i);
  }
  Search search(image, wanted, stop);
  // Searches only the first section of each type, because a file may have thousands.
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const ElfSection* const section = image.section_of_type(type);
    if (section != nullptr && !search.table(*section)) {
      return Error{"the search for functions in it was stopped", ""};
    }
  }
  return search.take_found();
}

Result<std::vector<ElfFunction>> find_functions(const ByteSource& file, const std::vector<std::string_view>& names,
                                                const std::function<bool()>& stop) {
  const std::optional<ElfImage> image = ElfImage::parse(file);
  if (!image) {
    return Error{"not an ELF file", ""};
  }
  auto symbols = find_symbols(*image, names, stop);
  RETURN_IF_ERROR(symbols);
  std::vector<ElfFunction> functions;
  for (const ElfSymbol& symbol : *symbols) {
    if (symbol.code) {
      functions.push_back({symbol.wanted, *symbol.code});
    }
  }
  return functions;
}

Result<std::vector<ElfFunction>> find_functions(int fd, const std::vector<std::string_view>& names,
                                                const std::function<bool()>& stop) {
  return find_functions(ByteSource::file(fd), names, stop);
}

}  // namespace gpuprof::symbolize
