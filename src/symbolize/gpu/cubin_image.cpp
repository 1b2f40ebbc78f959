#include "symbolize/gpu/cubin_image.h"

#include <algorithm>
#include <cstring>

namespace gpuprof::symbolize {
namespace {

constexpr uint16_t kCudaMachine = 190;     // EM_CUDA
constexpr uint8_t kWideArchitecture = 8;   // first ABI version that stores the architecture in two bytes
constexpr uint8_t kEntry = 0x10;           // STO_CUDA_ENTRY, a bit of st_other: the function is a kernel
constexpr uint32_t kToolNote = 2000;       // type of the note in .note.nv.tkinfo
constexpr size_t kMaxFunctions = 1 << 20;  // per file; the largest known cubins have about 10 000
constexpr size_t kMaxRelocations = 1 << 20;
constexpr size_t kMaxSectionName = 64 << 10;
// Limits the sum of all name lengths. Names may overlap, so a small string table can hold any number of long names.
constexpr uint64_t kMaxNameBytes = 256 << 20;

template <typename T>
T read(std::span<const uint8_t> bytes, size_t index) {
  T value{};
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof value);
  return value;
}

// Returns the NUL-terminated string at `offset`. Returns an empty string if no NUL follows within the bytes or the
// limit.
std::string_view string_at(std::span<const uint8_t> bytes, uint64_t offset) {
  if (offset >= bytes.size()) {
    return {};
  }
  const char* text = reinterpret_cast<const char*>(bytes.data()) + offset;
  const size_t room = std::min<size_t>(bytes.size() - offset, kMaxSectionName);
  const size_t length = ::strnlen(text, room);
  return length < room ? std::string_view(text, length) : std::string_view();
}

std::optional<uint8_t> rank_of(const Elf64_Sym& symbol) {
  if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) {
    return std::nullopt;
  }
  switch (ELF64_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
      return 0;
    case STB_WEAK:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

std::optional<CubinImage> CubinImage::open(std::span<const std::byte> bytes) {
  const std::span<const uint8_t> file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (file.size() < sizeof(Elf64_Ehdr) || read<Elf64_Ehdr>(file, 0).e_machine != kCudaMachine) {
    return std::nullopt;
  }
  auto elf = ElfImage::parse(ByteSource::memory(file));
  if (!elf) {
    return std::nullopt;
  }
  return CubinImage(file, std::move(*elf));
}

std::span<const uint8_t> CubinImage::bytes_of(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL || section.sh_offset > bytes_.size() ||
      section.sh_size > bytes_.size() - section.sh_offset) {
    return {};
  }
  return bytes_.subspan(section.sh_offset, section.sh_size);
}

std::span<const uint8_t> CubinImage::section(std::string_view name) const {
  const ElfSection* found = elf_.section(name);
  return found != nullptr ? bytes_of(found->header) : std::span<const uint8_t>();
}

std::vector<CubinFunction> CubinImage::functions() const {
  const ElfSection* table = elf_.section_of_type(SHT_SYMTAB);
  if (table == nullptr || table->header.sh_link >= elf_.sections().size()) {
    return {};
  }
  const std::span<const uint8_t> symbols = bytes_of(table->header);
  const std::span<const uint8_t> names = bytes_of(elf_.sections()[table->header.sh_link].header);
  std::vector<CubinFunction> functions;
  uint64_t name_bytes = 0;
  for (size_t i = 0; i < symbols.size() / sizeof(Elf64_Sym) && functions.size() < kMaxFunctions; ++i) {
    const auto symbol = read<Elf64_Sym>(symbols, i);
    const auto rank = rank_of(symbol);
    if (!rank || symbol.st_shndx >= elf_.sections().size()) {
      continue;
    }
    const std::string_view name = string_at(names, symbol.st_name);
    name_bytes += name.size();
    if (name_bytes > kMaxNameBytes) {
      break;
    }
    if (!name.empty()) {
      functions.push_back({name, symbol.st_shndx, symbol.st_value, symbol.st_size, static_cast<uint32_t>(i), *rank,
                           (symbol.st_other & kEntry) != 0});
    }
  }
  return functions;
}

std::vector<CubinRelocation> CubinImage::relocations(std::string_view name) const {
  const ElfSection* target = elf_.section(name);
  if (target == nullptr) {
    return {};
  }
  const auto index = static_cast<uint32_t>(target - elf_.sections().data());
  const auto found = std::find_if(elf_.sections().begin(), elf_.sections().end(), [index](const ElfSection& section) {
    return (section.header.sh_type == SHT_REL || section.header.sh_type == SHT_RELA) && section.header.sh_info == index;
  });
  if (found == elf_.sections().end()) {
    return {};
  }
  std::vector<CubinRelocation> relocations = read_relocations(found->header, bytes_of(target->header));
  std::sort(relocations.begin(), relocations.end(),
            [](const CubinRelocation& a, const CubinRelocation& b) { return a.place < b.place; });
  return relocations;
}

std::vector<CubinRelocation> CubinImage::read_relocations(const Elf64_Shdr& section,
                                                          std::span<const uint8_t> target) const {
  std::vector<CubinRelocation> relocations;
  if (section.sh_link >= elf_.sections().size()) {
    return relocations;
  }
  const std::span<const uint8_t> symbols = bytes_of(elf_.sections()[section.sh_link].header);
  const std::span<const uint8_t> entries = bytes_of(section);
  const bool explicit_addend = section.sh_type == SHT_RELA;
  const size_t count = entries.size() / (explicit_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel));
  for (size_t i = 0; i < count && relocations.size() < kMaxRelocations; ++i) {
    Elf64_Rela entry{};
    if (explicit_addend) {
      entry = read<Elf64_Rela>(entries, i);
    } else {
      const auto rel = read<Elf64_Rel>(entries, i);
      entry.r_offset = rel.r_offset;
      entry.r_info = rel.r_info;
    }
    const uint64_t index = ELF64_R_SYM(entry.r_info);
    if (entry.r_offset > target.size() || target.size() - entry.r_offset < sizeof entry.r_addend ||
        index >= symbols.size() / sizeof(Elf64_Sym)) {
      continue;
    }
    if (!explicit_addend) {
      std::memcpy(&entry.r_addend, target.data() + entry.r_offset, sizeof entry.r_addend);
    }
    const auto symbol = read<Elf64_Sym>(symbols, index);
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE) {
      relocations.push_back({entry.r_offset, symbol.st_value + static_cast<uint64_t>(entry.r_addend), symbol.st_shndx});
    }
  }
  return relocations;
}

std::string CubinImage::architecture() const {
  const auto header = read<Elf64_Ehdr>(bytes_, 0);
  const bool wide = header.e_ident[EI_ABIVERSION] >= kWideArchitecture;
  const uint32_t number = wide ? (header.e_flags >> 8) & 0xffff : header.e_flags & 0xff;
  if (number == 0) {
    return {};
  }
  std::string name = "sm_" + std::to_string(number);
  // The header does not distinguish sm_90a from sm_90, but the options do.
  const std::string_view told = options();
  const size_t at = told.find("-arch " + name);
  const size_t letter = at + std::strlen("-arch ") + name.size();
  if (at != std::string_view::npos && letter < told.size() && told[letter] >= 'a' && told[letter] <= 'z') {
    name += told[letter];
  }
  return name;
}

std::string_view CubinImage::options() const {
  // The note starts with six numbers, then strings follow. The last number is the offset of the options in these
  // strings.
  constexpr size_t kNumbers = 6;
  std::span<const uint8_t> note = section(".note.nv.tkinfo");
  if (note.size() < sizeof(Elf64_Nhdr)) {
    return {};
  }
  const auto header = read<Elf64_Nhdr>(note, 0);
  note = note.subspan(sizeof header);
  const uint64_t name_size = (uint64_t{header.n_namesz} + 3) & ~uint64_t{3};
  if (header.n_type != kToolNote || name_size > note.size() || note.size() - name_size < header.n_descsz ||
      header.n_descsz < kNumbers * sizeof(uint32_t)) {
    return {};
  }
  note = note.subspan(name_size, header.n_descsz);
  return string_at(note.subspan(kNumbers * sizeof(uint32_t)), read<uint32_t>(note, kNumbers - 1));
}

}  // namespace gpuprof::symbolize
