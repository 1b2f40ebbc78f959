#include "symbolize/elf/elf_symbols.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "symbolize/elf/plt_arch.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxElfSymbols = 8 << 20;  // per symbol table; the largest known tables have about a million
constexpr size_t kSymbolChunk = 16384;
constexpr size_t kMaxSymbolName = 64 << 10;
// A search for the symbol that contains an address checks at most this many symbols before the address.
constexpr size_t kMaxSymbolStepsBack = 64;
constexpr size_t kMaxAliases = 32;
constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();
constexpr uint8_t kLabelRank = 3;

uint32_t clamp32(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, kNoLimit));
}

std::optional<uint8_t> symbol_rank(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_name == 0 || arch::is_mark(symbol)) {
    return std::nullopt;
  }
  if (type == STT_NOTYPE) {
    return kLabelRank;
  }
  if (type != STT_FUNC && type != STT_GNU_IFUNC) {
    return std::nullopt;
  }
  switch (ELF64_ST_BIND(symbol.st_info)) {
    case STB_WEAK:
      return 1;
    case STB_LOCAL:
      return 2;
    default:
      return 0;
  }
}

// Orders the names of one address, so that every run prints the same name. Prefers the more global name, then fewer
// leading underscores, then the shorter name, then alphabetical order.
std::tuple<uint8_t, size_t, size_t, std::string_view> preference(uint8_t rank, std::string_view name) {
  return {rank, std::min(name.find_first_not_of('_'), name.size()), name.size(), name};
}

}  // namespace

size_t SymbolTable::add(const ElfImage& image, uint32_t section_type, ReadingBudget& budget) {
  const ElfSection* table = image.section_of_type(section_type);
  if (table == nullptr || !table->has_bytes() || table->header.sh_entsize != sizeof(Elf64_Sym) ||
      table->header.sh_link >= image.sections().size() || tables_.size() >= 255) {
    return 0;
  }
  const Elf64_Shdr& strings = image.sections()[table->header.sh_link].header;
  const uint64_t strings_end = strings.sh_offset + strings.sh_size;
  if (strings_end < strings.sh_offset || strings_end > image.source().size()) {
    return 0;
  }
  const auto table_index = static_cast<uint8_t>(tables_.size());
  tables_.push_back({image.source(), strings.sh_offset, strings_end});

  const size_t before = symbols_.size();
  const uint64_t there = std::min(table->header.sh_size, image.source().size()) / sizeof(Elf64_Sym);
  const uint64_t count = budget.take_symbols(std::min(there, kMaxElfSymbols));
  symbols_.reserve(before + count);  // repeated growth would need more memory
  std::vector<Elf64_Sym> chunk(std::min<uint64_t>(count, kSymbolChunk));
  for (uint64_t done = 0; done < count;) {
    const size_t want = std::min<uint64_t>(chunk.size(), count - done);
    const uint64_t offset = table->header.sh_offset + done * sizeof(Elf64_Sym);
    const size_t got = image.source().read_some(offset, chunk.data(), want * sizeof(Elf64_Sym)) / sizeof(Elf64_Sym);
    for (size_t i = 0; i < got; ++i) {
      const Elf64_Sym& symbol = chunk[i];
      const std::optional<uint8_t> rank = symbol_rank(symbol);
      if (!rank || symbol.st_name >= strings.sh_size) {
        continue;
      }
      const bool in_section = symbol.st_shndx < image.sections().size();
      if (!in_section && (*rank == kLabelRank || symbol.st_shndx != SHN_XINDEX)) {
        continue;
      }
      uint32_t room = kNoLimit;
      if (in_section) {
        const Elf64_Shdr& section = image.sections()[symbol.st_shndx].header;
        if ((section.sh_flags & SHF_EXECINSTR) == 0 || symbol.st_value < section.sh_addr ||
            symbol.st_value - section.sh_addr >= section.sh_size) {
          continue;
        }
        room = clamp32(section.sh_size - (symbol.st_value - section.sh_addr));
      }
      symbols_.push_back({symbol.st_value, clamp32(symbol.st_size), symbol.st_name, room, table_index, *rank});
    }
    if (got < want) {
      break;
    }
    done += got;
  }
  return symbols_.size() - before;
}

void SymbolTable::finish() {
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tuple(a.value, a.size == 0, a.rank, a.table, a.name) <
           std::tuple(b.value, b.size == 0, b.rank, b.table, b.name);
  });
  resolve_sizes();
  symbols_.shrink_to_fit();
}

// Drops labels inside functions of known size. Every other symbol without a size extends to the next symbol.
void SymbolTable::resolve_sizes() {
  uint64_t covered = 0;  // highest end address of the functions so far that have a size
  size_t kept = 0;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    Symbol symbol = symbols_[i];
    if (symbol.size != 0) {
      covered = std::max(covered, symbol.value + symbol.size);
    } else {
      if (symbol.value < covered) {
        continue;
      }
      size_t next = i + 1;
      while (next < symbols_.size() && symbols_[next].value == symbol.value) {
        ++next;
      }
      const uint64_t reach = next < symbols_.size() ? symbols_[next].value - symbol.value : kNoLimit;
      symbol.size = clamp32(std::min<uint64_t>(reach, symbol.room));
    }
    symbols_[kept++] = symbol;
  }
  symbols_.resize(kept);
}

std::optional<FoundSymbol> SymbolTable::find(uint64_t vaddr) const {
  auto after = std::upper_bound(symbols_.begin(), symbols_.end(), vaddr,
                                [](uint64_t address, const Symbol& symbol) { return address < symbol.value; });
  for (size_t steps = 0; after != symbols_.begin() && steps < kMaxSymbolStepsBack; ++steps) {
    --after;
    if (vaddr - after->value < after->size) {
      return best_alias(static_cast<size_t>(after - symbols_.begin()), vaddr);
    }
  }
  return std::nullopt;
}

FoundSymbol SymbolTable::best_alias(size_t index, uint64_t vaddr) const {
  const uint64_t value = symbols_[index].value;
  size_t first = index;
  while (first > 0 && symbols_[first - 1].value == value && index - first < kMaxAliases) {
    --first;
  }
  FoundSymbol best;
  uint8_t best_rank = std::numeric_limits<uint8_t>::max();
  for (size_t i = first; i < symbols_.size() && symbols_[i].value == value && i - first < 2 * kMaxAliases; ++i) {
    const Symbol& symbol = symbols_[i];
    if (vaddr - value >= symbol.size || symbol.rank > best_rank) {
      continue;
    }
    std::string name = name_of(symbol);
    if (best_rank == std::numeric_limits<uint8_t>::max() ||
        preference(symbol.rank, name) < preference(best_rank, best.name)) {
      best = {value, symbol.size, std::move(name)};
      best_rank = symbol.rank;
    }
  }
  return best;
}

std::string SymbolTable::name_of(const Symbol& symbol) const {
  const StringTable& table = tables_[symbol.table];
  return table.source.read_string(table.begin + symbol.name, table.end, kMaxSymbolName);
}

}  // namespace gpuprof::symbolize
