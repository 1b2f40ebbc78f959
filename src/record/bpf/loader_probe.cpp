#include "record/bpf/loader_probe.h"

#include <link.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "symbolize/elf/elf_image.h"

namespace gpuprof::record {
namespace {

// Size limit of .dynsym, and also of .dynstr. The loader exports about forty symbols.
constexpr uint64_t kMaxTable = 1U << 20;

std::optional<uint64_t> exported(const std::vector<uint8_t>& symbols, const std::vector<uint8_t>& names,
                                 std::string_view wanted) {
  Elf64_Sym symbol;
  for (size_t at = 0; at + sizeof(symbol) <= symbols.size(); at += sizeof(symbol)) {
    std::memcpy(&symbol, symbols.data() + at, sizeof(symbol));
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) {
      continue;
    }
    const auto* name = reinterpret_cast<const char*>(names.data()) + symbol.st_name;
    if (std::string_view(name, ::strnlen(name, names.size() - symbol.st_name)) == wanted) {
      return symbol.st_value;
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_loader(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-linux") || (name.starts_with("ld-2.") && name.ends_with(".so"));  // before glibc 2.34
}

std::optional<LoaderProbe> find_loader_probe(int fd) {
  const auto image = symbolize::ElfImage::parse(symbolize::ByteSource::file(fd));
  const symbolize::ElfSection* table = image ? image->section_of_type(SHT_DYNSYM) : nullptr;
  std::vector<uint8_t> symbols;
  std::vector<uint8_t> names;
  if (table == nullptr || table->header.sh_link >= image->sections().size() ||
      !image->read_section(*table, kMaxTable, symbols) ||
      !image->read_section(image->sections()[table->header.sh_link], kMaxTable, names)) {
    return std::nullopt;
  }
  const auto function = exported(symbols, names, "_dl_debug_state");
  const auto debug = exported(symbols, names, "_r_debug");
  const symbolize::ElfSection* code = function && debug ? image->section_at(*function) : nullptr;
  if (code == nullptr || !code->has_bytes()) {
    return std::nullopt;
  }
  return LoaderProbe{code->header.sh_offset + (*function - code->header.sh_addr),
                     *debug + offsetof(r_debug, r_state) - *function};
}

}  // namespace gpuprof::record
