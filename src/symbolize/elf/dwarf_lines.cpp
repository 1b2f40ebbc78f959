#include "symbolize/elf/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/files/safe_open.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize {
namespace {

// At most this many bytes of a file are read into memory. A larger file is mapped if root or gpuprof's user owns it,
// else rejected, because another owner could shrink a mapped file.
constexpr uint64_t kMaxReadBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxUnpackedBytes = uint64_t{1} << 30;
constexpr size_t kMaxUnits = 1 << 18;
constexpr uint64_t kUnitBytes = 512;  // memory per compilation unit, for our tables and libdw's
constexpr size_t kMaxRanges = 4 << 20;
constexpr int kMaxVisits = 4 << 20;  // limit of DIEs visited in one unit, because malformed siblings may form a cycle
constexpr int kMaxDepth = 128;
constexpr size_t kMaxScope = 4096;
constexpr uint64_t kScopeBytes = 80;
constexpr size_t kMaxRangesBack = 16;
constexpr size_t kMaxName = 64 << 10;
// Memory that libdw needs per line, while it reads (peak) and afterwards (kept). A line may take only one byte of the
// file.
constexpr uint64_t kLinePeak = 128;
constexpr uint64_t kLineKept = 48;
constexpr uint64_t kStepBytes = 1 << 20;  // memory that our tables may grow by before the budget is checked again

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
struct DwarfEnd {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
using ElfPointer = std::unique_ptr<Elf, ElfEnd>;
using DwarfPointer = std::unique_ptr<Dwarf, DwarfEnd>;

struct Range {
  uint64_t low;
  uint64_t high;
  size_t target;  // index of the unit, or offset of the function's DIE
};

bool by_low(const Range& a, const Range& b) {
  return a.low < b.low;
}

struct Unit {
  Dwarf_Die die{};
  bool indexed = false;
  enum class Lines : uint8_t { unknown, usable, left_out } lines = Lines::unknown;
  std::vector<Range> functions;  // sorted by Range::low
  // Maps the DIE offset of a function without linkage name to its prefix "ns::Class::".
  std::unordered_map<uint64_t, std::string> scopes;
};

template <typename Use>
void each_range(Dwarf_Die* die, Use use) {
  Dwarf_Addr base = 0;
  Dwarf_Addr low = 0;
  Dwarf_Addr high = 0;
  ptrdiff_t offset = 0;
  for (size_t count = 0; count < kMaxRanges; ++count) {
    offset = dwarf_ranges(die, offset, &base, &low, &high);
    if (offset <= 0) {
      return;
    }
    // Linkers place the ranges of removed code at 0 or at the top of the address space.
    if (low != 0 && low < high) {
      use(low, high);
    }
  }
}

// Calls `use` for each range that holds `address`, until `use` returns true. The range that starts last comes first.
template <typename Use>
bool each_holder(const std::vector<Range>& ranges, uint64_t address, Use use) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t wanted, const Range& range) { return wanted < range.low; });
  for (size_t steps = 0; after != ranges.begin() && steps < kMaxRangesBack; ++steps) {
    --after;
    if (address < after->high && use(after->target)) {
      return true;
    }
  }
  return false;
}

std::string bounded(const char* text, size_t most) {
  return text == nullptr ? std::string{} : std::string(text, ::strnlen(text, most));
}

std::string text_attribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return bounded(dwarf_formstring(dwarf_attr_integrate(die, name, &attribute)), kMaxName);
}

uint32_t number_attribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 && value <= INT32_MAX
             ? static_cast<uint32_t>(value)
             : 0;
}

// Skeleton units refer to other files (split DWARF), which libdw would open by names that the file chooses.
bool is_skeleton(Dwarf_Die* die) {
  return dwarf_tag(die) == DW_TAG_skeleton_unit || dwarf_hasattr(die, DW_AT_GNU_dwo_name) != 0 ||
         dwarf_hasattr(die, DW_AT_dwo_name) != 0;
}

bool holds_functions(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
      return true;
    default:
      return false;
  }
}

bool names_scope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type;
}

// Steps to the next sibling. Returns false after the last one, or if a malformed file places the next one before it.
bool next_sibling(Dwarf_Die* die) {
  const Dwarf_Off before = dwarf_dieoffset(die);
  Dwarf_Die next;
  if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= before) {
    return false;
  }
  *die = next;
  return true;
}

// Returns the total size of the debug sections: in the file, and unpacked.
std::pair<uint64_t, uint64_t> debug_bytes(const ElfImage& image) {
  uint64_t packed = 0;
  uint64_t unpacked = 0;
  for (const ElfSection& section : image.sections()) {
    if (!section.has_bytes() || (!section.name.starts_with(".debug_") && !section.name.starts_with(".zdebug_"))) {
      continue;
    }
    packed += std::min(section.header.sh_size, image.source().size());
    Elf64_Chdr compression{};
    if ((section.header.sh_flags & SHF_COMPRESSED) != 0 &&
        image.source().read(section.header.sh_offset, &compression, sizeof compression)) {
      unpacked += std::min<uint64_t>(compression.ch_size, kMaxUnpackedBytes + 1);
    } else if (section.name.starts_with(".zdebug_")) {
      // Nothing checks the size that this old form stores, so use a value that is rejected.
      unpacked += kMaxUnpackedBytes + 1;
    }
  }
  return {packed, unpacked};
}

// libdw 0.188 assumes that the last string of a table is terminated. If it is not, libdw reads past the section.
bool strings_are_terminated(Elf* elf) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) {
    return false;
  }
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    const char* name = gelf_getshdr(section, &header) == nullptr ? nullptr : elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::strstr(name, "debug_") == nullptr || std::strstr(name, "str") == nullptr ||
        std::strstr(name, "str_offsets") != nullptr) {
      continue;
    }
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data != nullptr && data->d_buf != nullptr && data->d_size > 0 &&
        static_cast<const char*>(data->d_buf)[data->d_size - 1] != '\0') {
      return false;
    }
  }
  return true;
}

// Returns the size of the line table at `offset`, in the section that libdw uses as .debug_line.
uint64_t line_table_bytes(Elf* elf, uint64_t offset) {
  constexpr uint32_t kLong = 0xffffffff;  // a 64-bit length follows
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) {
    return 0;
  }
  uint64_t most = 0;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    const char* name = gelf_getshdr(section, &header) == nullptr ? nullptr : elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::strstr(name, "debug_line") == nullptr || std::strstr(name, "line_str") != nullptr) {
      continue;
    }
    const Elf_Data* data = elf_getdata(section, nullptr);
    uint32_t length = 0;
    if (data == nullptr || data->d_buf == nullptr || data->d_size < sizeof length ||
        offset > data->d_size - sizeof length) {
      continue;
    }
    const char* const at = static_cast<const char*>(data->d_buf) + offset;
    std::memcpy(&length, at, sizeof length);
    const uint64_t rest = data->d_size - offset;
    uint64_t bytes = length;
    if (length == kLong && rest >= sizeof length + sizeof bytes) {
      std::memcpy(&bytes, at + sizeof length, sizeof bytes);
    }
    most = std::max(most, std::min(rest, bytes));
  }
  return most;
}

}  // namespace

struct DwarfLines::State {
  explicit State(ReadingBudget& given) : budget(given) {}

  ReadingBudget& budget;
  DebugFile alternate_file;
  ElfPointer elf;
  ElfPointer alternate_elf;
  DwarfPointer alternate;
  DwarfPointer dwarf;
  std::vector<Unit> units;
  std::vector<Range> ranges;  // address ranges of the units, sorted by low
  int visits = 0;
  bool trusted = false;
  bool may_grow = true;  // false after the budget was exhausted
  uint64_t growth = 0;   // bytes in use that are not yet charged to the budget

  bool begin(const ElfImage& image, const DebugFile& debug_file, const DebugSearch& search);
  bool begin_alternate(const ElfImage& image, const DebugFile& debug_file, const DebugSearch& search);
  bool visit();
  bool grow(uint64_t bytes);
  void add_range(std::vector<Range>& to, const Range& range);
  bool has_lines(Unit& unit);
  Unit::Lines read_lines(Unit& unit);
  void index_units();
  void index_functions(Unit& unit);
  void index_children(Unit& unit, Dwarf_Die parent, const std::string& scope, int depth);
  void index_function(Unit& unit, Dwarf_Die& die, const std::string& scope);
  bool inlined_at(Dwarf_Die parent, uint64_t vaddr, std::vector<Dwarf_Die>& chain, int depth);
  std::string name_of(Unit& unit, Dwarf_Die& die);
  std::vector<SourceFrame> frames(Unit& unit, Dwarf_Die function, uint64_t vaddr);
};

DwarfLines::DwarfLines(std::unique_ptr<State> state) : state_(std::move(state)) {}
DwarfLines::~DwarfLines() = default;

bool DwarfLines::present_in(const ElfImage& image) {
  const ElfSection* info = image.section(".debug_info");
  return info != nullptr && info->has_bytes() && info->header.sh_size != 0;
}

std::unique_ptr<DwarfLines> DwarfLines::open(const ElfImage& image, const DebugFile& debug_file,
                                             const DebugSearch& search, ReadingBudget& budget) {
  auto state = std::make_unique<State>(budget);
  if (!present_in(image) || !state->begin(image, debug_file, search)) {
    return nullptr;
  }
  state->index_units();
  if (state->ranges.empty()) {
    return nullptr;
  }
  return std::unique_ptr<DwarfLines>(new DwarfLines(std::move(state)));
}

bool DwarfLines::State::begin(const ElfImage& image, const DebugFile& debug_file, const DebugSearch& search) {
  elf_version(EV_CURRENT);
  const auto [packed, unpacked] = debug_bytes(image);
  if (unpacked > kMaxUnpackedBytes) {
    return false;
  }
  Elf_Cmd command = ELF_C_READ;
  trusted = debug_file.ours;
  const std::span<const uint8_t> memory = image.source().memory();
  const int fd = image.source().fd();
  if (is_trusted(fd) && packed > std::min(kMaxReadBytes, budget.room() / 2)) {
    command = ELF_C_READ_MMAP;
  } else if (packed > kMaxReadBytes) {
    return false;
  }
  if (!budget.take_debug_info(unpacked + (command == ELF_C_READ ? packed : 0), trusted)) {
    return false;
  }
  elf.reset(memory.empty() ? elf_begin(fd, command, nullptr)
                           : elf_memory(reinterpret_cast<char*>(const_cast<uint8_t*>(memory.data())), memory.size()));
  dwarf.reset(elf ? dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr) : nullptr);
  if (!dwarf || !strings_are_terminated(elf.get())) {
    return false;
  }
  return image.section(".gnu_debugaltlink") == nullptr || begin_alternate(image, debug_file, search);
}

bool DwarfLines::State::begin_alternate(const ElfImage& image, const DebugFile& debug_file, const DebugSearch& search) {
  // Only find_alternate_file() may open the file: libdw would open whatever the link names, even a FIFO.
  alternate_file = find_alternate_file(image, debug_file, search);
  const std::optional<ElfImage> alternate_image =
      alternate_file.fd ? ElfImage::parse(ByteSource::file(alternate_file.fd.get())) : std::nullopt;
  if (!alternate_image) {
    return false;
  }
  const auto [alternate_packed, alternate_unpacked] = debug_bytes(*alternate_image);
  if (alternate_packed > kMaxReadBytes || alternate_unpacked > kMaxUnpackedBytes ||
      !budget.take_debug_info(alternate_packed + alternate_unpacked, alternate_file.ours)) {
    return false;
  }
  alternate_elf.reset(elf_begin(alternate_file.fd.get(), ELF_C_READ, nullptr));
  alternate.reset(alternate_elf ? dwarf_begin_elf(alternate_elf.get(), DWARF_C_READ, nullptr) : nullptr);
  if (!alternate || !strings_are_terminated(alternate_elf.get())) {
    return false;
  }
  dwarf_setalt(dwarf.get(), alternate.get());
  return true;
}

// Counts a visited DIE. Returns false after kMaxVisits, or if the time of the budget is over.
bool DwarfLines::State::visit() {
  constexpr int kVisitsPerCheck = 1024;
  return ++visits <= kMaxVisits && (visits % kVisitsPerCheck != 0 || budget.in_time());
}

// Returns false if `bytes` more exceed the budget. Even a small file may need much, if entries share ranges and names.
bool DwarfLines::State::grow(uint64_t bytes) {
  growth += bytes;
  if (may_grow && growth >= kStepBytes) {
    may_grow = budget.take_debug_info(std::exchange(growth, 0), trusted);
  }
  return may_grow;
}

void DwarfLines::State::add_range(std::vector<Range>& to, const Range& range) {
  if (to.size() < kMaxRanges && grow(2 * sizeof range)) {
    to.push_back(range);
  }
}

bool DwarfLines::State::has_lines(Unit& unit) {
  if (unit.lines == Unit::Lines::unknown) {
    unit.lines = read_lines(unit);
  }
  return unit.lines == Unit::Lines::usable;
}

// Reads all lines of the unit, because libdw also reads them all for a single line.
Unit::Lines DwarfLines::State::read_lines(Unit& unit) {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (dwarf_formudata(dwarf_attr(&unit.die, DW_AT_stmt_list, &attribute), &offset) != 0) {
    return Unit::Lines::left_out;
  }
  const uint64_t bytes = line_table_bytes(elf.get(), offset);
  if (!budget.may_take_debug_info(bytes * kLinePeak, bytes * kLineKept, trusted)) {
    return Unit::Lines::left_out;
  }
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit.die, &lines, &count) != 0) {
    return Unit::Lines::left_out;
  }
  grow(count * kLineKept);
  return Unit::Lines::usable;
}

// Does not use .debug_aranges, because clang does not write it and older compilers write only parts of it.
void DwarfLines::State::index_units() {
  Dwarf_Off offset = 0;
  while (units.size() < kMaxUnits && ranges.size() < kMaxRanges && grow(kUnitBytes) && budget.in_time()) {
    Dwarf_Off next = 0;
    size_t header_size = 0;
    Dwarf_Half version = 0;
    if (dwarf_next_unit(dwarf.get(), offset, &next, &header_size, &version, nullptr, nullptr, nullptr, nullptr,
                        nullptr) != 0 ||
        next <= offset) {
      break;
    }
    Dwarf_Die die;
    if (dwarf_offdie(dwarf.get(), offset + header_size, &die) != nullptr && dwarf_tag(&die) == DW_TAG_compile_unit &&
        !is_skeleton(&die)) {
      const size_t index = units.size();
      each_range(&die, [&](uint64_t low, uint64_t high) { add_range(ranges, {low, high, index}); });
      units.emplace_back().die = die;
    }
    offset = next;
  }
  std::sort(ranges.begin(), ranges.end(), by_low);
}

void DwarfLines::State::index_functions(Unit& unit) {
  visits = 0;
  index_children(unit, unit.die, {}, 0);
  std::sort(unit.functions.begin(), unit.functions.end(), by_low);
  unit.indexed = true;
}

void DwarfLines::State::index_children(Unit& unit, Dwarf_Die parent, const std::string& scope, int depth) {
  Dwarf_Die die;
  if (depth > kMaxDepth || dwarf_child(&parent, &die) != 0) {
    return;
  }
  do {
    if (!visit()) {
      return;
    }
    const int tag = dwarf_tag(&die);
    if (tag == DW_TAG_subprogram) {
      index_function(unit, die, scope);
    }
    if (!holds_functions(tag) || dwarf_haschildren(&die) == 0) {
      continue;
    }
    std::string inner = scope;
    if (names_scope(tag) && scope.size() < kMaxScope) {
      const char* name = dwarf_diename(&die);
      inner += name != nullptr           ? bounded(name, kMaxScope)
               : tag == DW_TAG_namespace ? "(anonymous namespace)"
                                         : "(anonymous)";
      inner += "::";
    }
    index_children(unit, die, inner, depth + 1);
  } while (next_sibling(&die));
}

void DwarfLines::State::index_function(Unit& unit, Dwarf_Die& die, const std::string& scope) {
  const Dwarf_Off offset = dwarf_dieoffset(&die);
  each_range(&die, [&](uint64_t low, uint64_t high) { add_range(unit.functions, {low, high, offset}); });
  if (!scope.empty() && dwarf_hasattr(&die, DW_AT_linkage_name) == 0 &&
      dwarf_hasattr(&die, DW_AT_MIPS_linkage_name) == 0 && dwarf_hasattr(&die, DW_AT_name) != 0 &&
      grow(scope.size() + kScopeBytes)) {
    unit.scopes.emplace(offset, scope);
  }
}

// Appends the inlined calls that hold `vaddr` to `chain`, outermost first.
bool DwarfLines::State::inlined_at(Dwarf_Die parent, uint64_t vaddr, std::vector<Dwarf_Die>& chain, int depth) {
  Dwarf_Die die;
  if (depth > kMaxDepth || dwarf_child(&parent, &die) != 0) {
    return false;
  }
  do {
    if (!visit()) {
      return false;
    }
    const int tag = dwarf_tag(&die);
    if (tag == DW_TAG_inlined_subroutine) {
      if (dwarf_haspc(&die, vaddr) > 0) {
        chain.push_back(die);
        inlined_at(die, vaddr, chain, depth + 1);
        return true;
      }
    } else if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
      // The optimizer may drop a block's ranges but keep those of calls in it, so search blocks without ranges.
      const bool ranges_known = dwarf_hasattr(&die, DW_AT_ranges) != 0 || dwarf_hasattr(&die, DW_AT_low_pc) != 0;
      if ((!ranges_known || dwarf_haspc(&die, vaddr) > 0) && inlined_at(die, vaddr, chain, depth + 1)) {
        return true;
      }
    }
  } while (next_sibling(&die));
  return false;
}

std::string DwarfLines::State::name_of(Unit& unit, Dwarf_Die& die) {
  std::string name = text_attribute(&die, DW_AT_linkage_name);
  if (name.empty()) {
    name = text_attribute(&die, DW_AT_MIPS_linkage_name);
  }
  if (!name.empty()) {
    return demangle(name);
  }
  name = text_attribute(&die, DW_AT_name);
  // Functions local to a file have no linkage name. Their full name includes the scopes around their declaration.
  Dwarf_Die declaration = die;
  for (int step = 0; step < 4; ++step) {
    if (const auto scope = unit.scopes.find(dwarf_dieoffset(&declaration)); scope != unit.scopes.end()) {
      return scope->second + name;
    }
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    Dwarf_Attribute* reference = dwarf_attr(&declaration, DW_AT_abstract_origin, &attribute);
    if (reference == nullptr) {
      reference = dwarf_attr(&declaration, DW_AT_specification, &attribute);
    }
    if (reference == nullptr || dwarf_formref_die(reference, &origin) == nullptr) {
      break;
    }
    declaration = origin;
  }
  return name;
}

std::vector<SourceFrame> DwarfLines::State::frames(Unit& unit, Dwarf_Die function, uint64_t vaddr) {
  std::vector<Dwarf_Die> chain = {function};
  visits = 0;
  inlined_at(function, vaddr, chain, 0);

  std::vector<SourceFrame> result(chain.size());
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  const bool has_source = has_lines(unit);
  if (has_source && chain.size() > 1 && dwarf_getsrcfiles(&unit.die, &files, &file_count) != 0) {
    files = nullptr;
  }
  for (size_t i = 0; i < chain.size(); ++i) {
    result[i].name = name_of(unit, chain[i]);
    if (i + 1 == chain.size()) {
      break;
    }
    // The line of a frame is the line of the call that is inlined into it.
    const uint32_t file = number_attribute(&chain[i + 1], DW_AT_call_file);
    const char* path = files != nullptr && file < file_count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
    result[i].file = bounded(path, kMaxName);
    result[i].line = number_attribute(&chain[i + 1], DW_AT_call_line);
  }
  if (Dwarf_Line* line = has_source ? dwarf_getsrc_die(&unit.die, vaddr) : nullptr; line != nullptr) {
    int number = 0;
    result.back().file = bounded(dwarf_linesrc(line, nullptr, nullptr), kMaxName);
    result.back().line = dwarf_lineno(line, &number) == 0 && number > 0 ? static_cast<uint32_t>(number) : 0;
  }
  return result;
}

std::vector<SourceFrame> DwarfLines::find(uint64_t vaddr) {
  std::vector<SourceFrame> result;
  size_t lines_only = state_->units.size();  // first unit with the address, for the case that no function has it
  each_holder(state_->ranges, vaddr, [&](size_t unit_index) {
    Unit& unit = state_->units[unit_index];
    if (!unit.indexed) {
      state_->index_functions(unit);
    }
    lines_only = std::min(lines_only, unit_index);
    return each_holder(unit.functions, vaddr, [&](uint64_t offset) {
      Dwarf_Die function;
      if (dwarf_offdie(state_->dwarf.get(), offset, &function) == nullptr) {
        return false;
      }
      result = state_->frames(unit, function, vaddr);
      return true;
    });
  });
  if (result.empty() && lines_only < state_->units.size()) {
    Unit& unit = state_->units[lines_only];  // a unit without functions, such as assembler code
    Dwarf_Line* line = state_->has_lines(unit) ? dwarf_getsrc_die(&unit.die, vaddr) : nullptr;
    const char* path = line != nullptr ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
    int number = 0;
    if (path != nullptr && dwarf_lineno(line, &number) == 0) {
      result.push_back({{}, bounded(path, kMaxName), static_cast<uint32_t>(std::max(number, 0))});
    }
  }
  return result;
}

}  // namespace gpuprof::symbolize
