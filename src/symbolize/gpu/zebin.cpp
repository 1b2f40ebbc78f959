#include "symbolize/gpu/zebin.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "symbolize/elf/elf_image.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint16_t kIntelGraphics = 205;  // EM_INTELGT, which older elf.h lack
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr std::string_view kCode = ".text.";
// Relocation types: a 64-bit address, or its lower or upper half.
constexpr uint32_t kAddress = 1;
constexpr uint32_t kAddressLow = 2;
constexpr uint32_t kAddressHigh = 3;
// The first address that is assigned to code. It is not 0, because linkers set references to dropped code to 0.
constexpr uint64_t kFirstAddress = 1 << 16;
constexpr uint64_t kAlignment = 64;

// A note of this section has the owner kOwner and a value of 4 bytes.
constexpr std::string_view kNotes = ".note.intelgt.compat";
constexpr std::string_view kOwner = "IntelGT";
constexpr uint32_t kProductFamily = 1;
constexpr uint32_t kGfxCore = 2;
constexpr uint32_t kProductConfig = 6;  // newer files have this note and neither kProductFamily nor kGfxCore

// A copy of a zebin, to be changed in place.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> from) : bytes_(from.size()) {
    std::memcpy(bytes_.data(), from.data(), from.size());
  }

  template <typename T>
  [[nodiscard]] std::optional<T> read(uint64_t offset) const {
    T value;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) {
      return std::nullopt;
    }
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  template <typename T>
  void write(uint64_t offset, const T& value) {
    if (offset <= bytes_.size() && bytes_.size() - offset >= sizeof value) {
      std::memcpy(bytes_.data() + offset, &value, sizeof value);
    }
  }

  [[nodiscard]] std::span<const uint8_t> all() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

bool is_zebin(const Bytes& bytes) {
  const auto header = bytes.read<Elf64_Ehdr>(0);
  return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
         header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_machine == kIntelGraphics &&
         header->e_shentsize == sizeof(Elf64_Shdr);
}

bool is_code(const ElfSection& section) {
  return section.has_bytes() && section.name.starts_with(kCode) && section.name.size() > kCode.size();
}

// Assigns an address to each code section. Writes it to the section header, and returns the addresses by section.
std::vector<uint64_t> place_code(Bytes& bytes, const std::vector<ElfSection>& sections) {
  const uint64_t headers = bytes.read<Elf64_Ehdr>(0)->e_shoff;
  std::vector<uint64_t> addresses(sections.size(), 0);
  uint64_t next = kFirstAddress;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!is_code(sections[i])) {
      continue;
    }
    addresses[i] = next;
    bytes.write(headers + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr), next);
    next += std::min<uint64_t>(sections[i].header.sh_size, bytes.all().size());
    next = (next + kAlignment) / kAlignment * kAlignment;
  }
  return addresses;
}

GpuPlatform platform_of_core(uint32_t core) {
  switch (core) {
    case 18:
      return GpuPlatform::xe;
    case 0xc05:
      return GpuPlatform::xe_hp;
    case 0xc07:
      return GpuPlatform::xe_hpg;
    case 0xc08:
      return GpuPlatform::xe_hpc;
    case 0xc09:
      return GpuPlatform::xe2;
    case 0x1e00:
      return GpuPlatform::xe3;
    default:
      return GpuPlatform::unknown;
  }
}

// Returns the platform of a product family. Some compilers store only the family and not the core.
GpuPlatform platform_of_product(uint32_t product) {
  constexpr uint32_t kXeHpSdv = 1250;
  constexpr uint32_t kDg2 = 1270;
  constexpr uint32_t kPvc = 1271;
  switch (product) {
    case kXeHpSdv:
      return GpuPlatform::xe_hp;
    case kDg2:
      return GpuPlatform::xe_hpg;
    case kPvc:
      return GpuPlatform::xe_hpc;
    default:
      return GpuPlatform::unknown;
  }
}

// Returns the platform of a configuration, which is architecture, release and revision. 12.60.7 is a Ponte Vecchio.
GpuPlatform platform_of_config(uint32_t config) {
  const uint32_t architecture = config >> 22U;
  const uint32_t release = config >> 14U & 0xffU;
  if (architecture == 12) {
    return release < 50   ? GpuPlatform::xe
           : release < 55 ? GpuPlatform::xe_hp
           : release < 60 ? GpuPlatform::xe_hpg
           : release < 70 ? GpuPlatform::xe_hpc
                          : GpuPlatform::xe_hpg;
  }
  if (architecture == 20) {
    return GpuPlatform::xe2;
  }
  return architecture == 30 ? GpuPlatform::xe3 : GpuPlatform::unknown;
}

GpuPlatform read_platform(const Bytes& bytes, const ElfSection& notes) {
  constexpr uint64_t kAlign = 4;
  const auto padded = [](uint64_t size) { return (size + kAlign - 1) / kAlign * kAlign; };
  const uint64_t size = std::min<uint64_t>(notes.header.sh_size, bytes.all().size());
  GpuPlatform found = GpuPlatform::unknown;
  for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
    const auto note = bytes.read<Elf64_Nhdr>(notes.header.sh_offset + at);
    if (!note) {
      break;
    }
    const uint64_t name = notes.header.sh_offset + at + sizeof(*note);
    const auto owner = bytes.read<std::array<char, kOwner.size() + 1>>(name);
    const auto word = bytes.read<uint32_t>(name + padded(note->n_namesz));
    if (owner && word && note->n_namesz == owner->size() && note->n_descsz == sizeof(*word) &&
        kOwner == std::string_view(owner->data(), kOwner.size())) {
      const GpuPlatform told = note->n_type == kProductConfig   ? platform_of_config(*word)
                               : note->n_type == kGfxCore       ? platform_of_core(*word)
                               : note->n_type == kProductFamily ? platform_of_product(*word)
                                                                : GpuPlatform::unknown;
      found = told != GpuPlatform::unknown ? told : found;
    }
    at += sizeof(*note) + padded(note->n_namesz) + padded(note->n_descsz);
  }
  return found;
}

class Relocations {
 public:
  Relocations(Bytes& bytes, const std::vector<ElfSection>& sections, const std::vector<uint64_t>& addresses)
      : bytes_(bytes), sections_(sections), addresses_(addresses), left_(bytes.all().size() / sizeof(Elf64_Rel)) {}

  void apply() {
    for (const ElfSection& section : sections_) {
      const Elf64_Shdr& header = section.header;
      if (header.sh_info >= sections_.size() || header.sh_link >= sections_.size() ||
          !sections_[header.sh_info].name.starts_with(".debug_")) {
        continue;
      }
      if (header.sh_type == SHT_RELA) {
        apply<Elf64_Rela>(header);
      } else if (header.sh_type == SHT_REL) {
        apply<Elf64_Rel>(header);
      }
    }
  }

 private:
  template <typename Entry>
  void apply(const Elf64_Shdr& table) {
    const Elf64_Shdr& target = sections_[table.sh_info].header;
    const Elf64_Shdr& symbols = sections_[table.sh_link].header;
    for (uint64_t at = 0; table.sh_size - at >= sizeof(Entry) && left_ != 0; at += sizeof(Entry), --left_) {
      const auto entry = bytes_.read<Entry>(table.sh_offset + at);
      if (!entry) {
        return;
      }
      const auto address = address_of(symbols, ELF64_R_SYM(entry->r_info));
      if (address && entry->r_offset < target.sh_size) {
        relocate(*entry, target.sh_offset + entry->r_offset, target.sh_size - entry->r_offset, *address);
      }
    }
  }

  [[nodiscard]] std::optional<uint64_t> address_of(const Elf64_Shdr& symbols, uint64_t index) const {
    if (index >= symbols.sh_size / sizeof(Elf64_Sym)) {
      return std::nullopt;
    }
    const auto symbol = bytes_.read<Elf64_Sym>(symbols.sh_offset + index * sizeof(Elf64_Sym));
    if (!symbol || symbol->st_shndx >= addresses_.size()) {
      return std::nullopt;
    }
    return addresses_[symbol->st_shndx] + symbol->st_value;
  }

  template <typename Entry>
  void relocate(const Entry& entry, uint64_t offset, uint64_t room, uint64_t address) {
    const uint32_t type = ELF64_R_TYPE(entry.r_info);
    const uint64_t size = type == kAddress ? sizeof(uint64_t) : sizeof(uint32_t);
    if (type < kAddress || type > kAddressHigh || room < size) {
      return;
    }
    if constexpr (requires { entry.r_addend; }) {
      address += static_cast<uint64_t>(entry.r_addend);
    } else {
      address += size == sizeof(uint64_t) ? bytes_.read<uint64_t>(offset).value_or(0)
                                          : bytes_.read<uint32_t>(offset).value_or(0);
    }
    if (type == kAddress) {
      bytes_.write(offset, address);
    } else {
      bytes_.write(offset, static_cast<uint32_t>(type == kAddressLow ? address : address >> 32U));
    }
  }

  Bytes& bytes_;
  const std::vector<ElfSection>& sections_;
  const std::vector<uint64_t>& addresses_;
  // Number of relocations that may still be applied. It is limited, because many tables may describe the same bytes.
  uint64_t left_;
};

}  // namespace

struct Zebin::State {
  explicit State(Bytes given) : bytes(std::move(given)), image(ElfImage::parse(ByteSource::memory(bytes.all()))) {}

  Bytes bytes;
  std::optional<ElfImage> image;
  std::unique_ptr<DwarfLines> dwarf;
  std::vector<Kernel> kernels;
  std::vector<uint64_t> addresses;                       // code addresses of the kernels, in the order of `kernels`
  std::unordered_map<std::string_view, size_t> by_name;  // for each name, the index of its first kernel
  GpuPlatform platform = GpuPlatform::unknown;
};

std::string_view platform_name(GpuPlatform platform) {
  constexpr std::array<std::string_view, 7> kNames = {"unknown", "xe", "xe_hp", "xe_hpg", "xe_hpc", "xe2", "xe3"};
  return kNames[static_cast<size_t>(platform)];
}

Zebin::Zebin(std::unique_ptr<State> state) : state_(std::move(state)) {}
Zebin::~Zebin() = default;

std::unique_ptr<Zebin> Zebin::parse(std::span<const std::byte> from, ReadingBudget& budget) {
  if (from.size() < sizeof(Elf64_Ehdr) || from.size() > kMostBytes || from.size() > budget.room() / 2) {
    return nullptr;
  }
  auto state = std::make_unique<State>(Bytes(from));
  const std::optional<ElfImage>& image = state->image;
  if (!image || !is_zebin(state->bytes)) {
    return nullptr;
  }
  const std::vector<uint64_t> addresses = place_code(state->bytes, image->sections());
  Relocations(state->bytes, image->sections(), addresses).apply();
  for (size_t i = 0; i < addresses.size(); ++i) {
    const ElfSection& section = image->sections()[i];
    if (addresses[i] != 0) {
      const uint64_t size = std::min<uint64_t>(section.header.sh_size, from.size());
      state->kernels.push_back({section.name.substr(kCode.size()), size, section.header.sh_offset});
      state->addresses.push_back(addresses[i]);
    }
  }
  for (size_t i = 0; i < state->kernels.size(); ++i) {
    state->by_name.try_emplace(state->kernels[i].name, i);
  }
  if (const ElfSection* const notes = image->section(kNotes); notes != nullptr) {
    state->platform = read_platform(state->bytes, *notes);
  }
  // Relocations may have changed the headers, and libdw reads the changed bytes.
  state->image = ElfImage::parse(ByteSource::memory(state->bytes.all()));
  if (state->image && DwarfLines::present_in(*state->image)) {
    // Do not open other files that the DWARF names.
    state->dwarf = DwarfLines::open(*state->image, {}, {}, budget);
  }
  return std::unique_ptr<Zebin>(new Zebin(std::move(state)));
}

const std::vector<Zebin::Kernel>& Zebin::kernels() const {
  return state_->kernels;
}

const Zebin::Kernel* Zebin::find(std::string_view kernel) const {
  const auto found = state_->by_name.find(kernel);
  return found == state_->by_name.end() ? nullptr : &state_->kernels[found->second];
}

bool Zebin::has_lines() const {
  return state_->dwarf != nullptr;
}

GpuPlatform Zebin::platform() const {
  return state_->platform;
}

std::vector<SourceFrame> Zebin::lines(std::string_view kernel, uint64_t offset) {
  const auto found = state_->by_name.find(kernel);
  if (state_->dwarf == nullptr || found == state_->by_name.end() || offset >= state_->kernels[found->second].bytes) {
    return {};
  }
  return state_->dwarf->find(state_->addresses[found->second] + offset);
}

}  // namespace gpuprof::symbolize
