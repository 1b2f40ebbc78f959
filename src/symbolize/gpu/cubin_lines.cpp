#include "symbolize/gpu/cubin_lines.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize {
namespace {

constexpr std::string_view kLineSection = ".debug_line";
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr size_t kMaxFrames = 1024;  // frames of one code location; a profile has the same limit
// A search for the function that contains an address checks at most this many functions before the address.
constexpr size_t kMaxStepsBack = 64;
constexpr size_t kMaxSectionRows = 1 << 20;  // rows of one section, over all its sequences
constexpr size_t kMaxRowsKept = 4 << 20;     // stored rows, 20 bytes each
constexpr size_t kMaxFilesKept = 1 << 20;    // stored files, 24 bytes each
constexpr size_t kMaxNameBytesKept = 8 << 20;
constexpr size_t kMaxKernelName = 32 << 10;  // bytes of one name; demangle() leaves longer names unchanged
constexpr size_t kMaxKernelNameBytes = 1 << 20;

// A function that only one kernel calls has the name "$_Z6kernelv$_Z6calleev" in that kernel's section.
std::string_view own_name(std::string_view name) {
  const size_t second = name.starts_with('$') ? name.find('$', 1) : std::string_view::npos;
  return second != std::string_view::npos && second + 1 < name.size() ? name.substr(second + 1) : name;
}

}  // namespace

std::optional<CubinLines> CubinLines::open(std::span<const std::byte> bytes) {
  const auto image = CubinImage::open(bytes);
  if (!image) {
    return std::nullopt;
  }
  CubinLines lines;
  lines.index_functions(*image);
  lines.index_lines(*image);
  lines.facts_.architecture = image->architecture();
  lines.facts_.options = image->options();
  lines.facts_.lines = !lines.starts_.empty();
  lines.facts_.debug = !image->section(".debug_info").empty();
  return lines;
}

void CubinLines::index_functions(const CubinImage& image) {
  functions_ = image.functions();
  // If two functions start at the same offset, the longer one comes first, because it contains the other.
  std::stable_sort(functions_.begin(), functions_.end(), [](const CubinFunction& a, const CubinFunction& b) {
    return std::tie(a.section, a.begin, b.size) < std::tie(b.section, b.begin, a.size);
  });
  by_name_.reserve(functions_.size());
  for (const CubinFunction& function : functions_) {
    const auto [entry, added] = by_name_.try_emplace(function.name, Named{&function, false});
    Named& named = entry->second;
    if (!added && function.rank <= named.function->rank) {
      named = {&function, function.rank == named.function->rank};
    }
  }
}

void CubinLines::index_lines(const CubinImage& image) {
  lines_ = image.section(kLineSection);
  strings_ = image.section(".debug_str");
  tables_ = CubinLineTable::find_all(lines_);
  if (tables_.empty()) {
    return;
  }
  for (const CubinRelocation& relocation : image.relocations(kLineSection)) {
    const auto table = std::upper_bound(tables_.begin(), tables_.end(), relocation.place) - tables_.begin() - 1;
    if (CubinLineTable::begins_sequence(lines_, tables_[table], relocation.place)) {
      if (!starts_.empty()) {
        starts_.back().stop = relocation.place;
      }
      starts_.push_back(
          {relocation.section, static_cast<uint32_t>(table), relocation.place, lines_.size(), relocation.offset});
    }
  }
  std::stable_sort(starts_.begin(), starts_.end(),
                   [](const Start& a, const Start& b) { return a.section < b.section; });
}

const CubinFunction* CubinLines::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found != by_name_.end() && !found->second.ambiguous ? found->second.function : nullptr;
}

// Returns the innermost function at an offset: the one that begins last, among the functions that contain the offset.
const CubinFunction* CubinLines::innermost(uint32_t section, uint64_t at) const {
  auto after = std::upper_bound(functions_.begin(), functions_.end(), std::tie(section, at),
                                [](const auto& place, const CubinFunction& function) {
                                  return place < std::tie(function.section, function.begin);
                                });
  for (size_t steps = 0; steps < kMaxStepsBack && after != functions_.begin(); ++steps) {
    --after;
    if (after->section != section) {
      break;
    }
    if (at - after->begin < after->size) {
      return &*after;
    }
  }
  return nullptr;
}

std::span<const CubinLines::Start> CubinLines::starts_of(uint32_t section) const {
  const auto first = std::partition_point(starts_.begin(), starts_.end(),
                                          [section](const Start& start) { return start.section < section; });
  const auto last =
      std::partition_point(first, starts_.end(), [section](const Start& start) { return start.section == section; });
  return {first, last};
}

bool CubinLines::has_lines(std::string_view function) const {
  const CubinFunction* found = find(function);
  return found != nullptr && !starts_of(found->section).empty();
}

const CubinLineTable* CubinLines::table(uint32_t index) {
  auto found = parsed_.find(index);
  if (found == parsed_.end()) {
    if (files_kept_ > kMaxFilesKept) {
      parsed_.clear();
      files_kept_ = 0;
    }
    found = parsed_.emplace(index, CubinLineTable::parse(lines_, tables_[index])).first;
    files_kept_ += 1 + (found->second ? found->second->file_count() : 0);
  }
  return found->second ? &*found->second : nullptr;
}

const CubinLines::Section& CubinLines::decode(uint32_t section) {
  if (const auto found = decoded_.find(section); found != decoded_.end()) {
    return found->second;
  }
  Section result;
  size_t rows = 0;
  for (const Start& start : starts_of(section)) {
    const CubinLineTable* of = table(start.table);
    if (auto sequence = of != nullptr ? of->decode(start.place, start.stop, start.address) : std::nullopt;
        sequence && !sequence->rows.empty() && sequence->rows.size() <= kMaxSectionRows - rows) {
      rows += sequence->rows.size();
      result.push_back({start.table, std::move(*sequence)});
    }
  }
  if (rows_kept_ + rows > kMaxRowsKept) {
    decoded_.clear();
    rows_kept_ = 0;
  }
  rows_kept_ += rows;
  return decoded_.emplace(section, std::move(result)).first->second;
}

std::vector<SourceFrame> CubinLines::frames(std::string_view function, uint64_t offset) {
  const CubinFunction* asked = find(function);
  if (asked == nullptr || offset >= asked->size) {
    return {};
  }
  const uint64_t at = asked->begin + offset;
  const CubinFunction* owner = innermost(asked->section, at);
  if (owner == nullptr) {
    return {};
  }
  for (const Decoded& decoded : decode(asked->section)) {
    const std::vector<CubinRow>& rows = decoded.sequence.rows;
    const auto after = std::upper_bound(rows.begin(), rows.end(), at,
                                        [](uint64_t address, const CubinRow& row) { return address < row.address; });
    if (after != rows.begin() && at < decoded.sequence.end) {
      const auto row = static_cast<size_t>(after - rows.begin() - 1);
      // A row that begins before `owner` belongs to another function. Then `owner` has no rows, because it was not
      // compiled from source code.
      return rows[row].address >= owner->begin ? chain(decoded, row, *owner)
                                               : std::vector<SourceFrame>{{demangled(own_name(owner->name)), {}, 0}};
    }
  }
  return {};
}

std::vector<SourceFrame> CubinLines::chain(const Decoded& decoded, size_t row, const CubinFunction& function) {
  const CubinLineTable* of = table(decoded.table);
  const std::vector<CubinRow>& rows = decoded.sequence.rows;
  std::vector<SourceFrame> frames;
  size_t name_bytes = 0;
  while (of != nullptr && frames.size() < kMaxFrames) {
    const CubinRow& at = rows[row];
    const std::string_view name = at.context == 0 ? own_name(function.name) : inlined_name(decoded.table, at.name);
    SourceFrame& frame = frames.emplace_back(SourceFrame{{}, of->file(at.file), at.line});
    if (name_bytes < kMaxKernelNameBytes) {
      frame.name = demangled(name);
      name_bytes += frame.name.size();
    }
    if (at.context == 0) {
      std::reverse(frames.begin(), frames.end());
      return frames;
    }
    // The call must be in an earlier row, so a chain has no cycle.
    if (at.context > row) {
      break;
    }
    row = at.context - 1;
  }
  return {};
}

uint32_t CubinLines::first_named() {
  if (!first_named_) {
    first_named_ = kNone;
    for (uint32_t i = 0; i < tables_.size() && *first_named_ == kNone; ++i) {
      const auto parsed = CubinLineTable::parse(lines_, tables_[i]);
      if (parsed && parsed->names_begin()) {
        first_named_ = i;
      }
    }
  }
  return *first_named_;
}

std::string_view CubinLines::inlined_name(uint32_t table_index, uint32_t offset) {
  const CubinLineTable* of = table(table_index);
  if (of == nullptr || !of->names_begin()) {
    return {};
  }
  // A linker should store each input file's names_begin(). If it stored 0, only the first file's offsets are valid.
  if (*of->names_begin() == 0 && table_index != first_named()) {
    return {};
  }
  const uint64_t begin = uint64_t{*of->names_begin()} + offset;
  if (begin >= strings_.size()) {
    return {};
  }
  const char* text = reinterpret_cast<const char*>(strings_.data()) + begin;
  const size_t room = std::min<size_t>(strings_.size() - begin, kMaxKernelName);
  const size_t length = ::strnlen(text, room);
  return length < room ? std::string_view(text, length) : std::string_view();
}

const std::string& CubinLines::demangled(std::string_view name) {
  auto found = names_.find(name);
  if (found == names_.end()) {
    if (name_bytes_kept_ > kMaxNameBytesKept) {
      names_.clear();
      name_bytes_kept_ = 0;
    }
    found = names_.emplace(name, demangle(name)).first;
    name_bytes_kept_ += found->second.size() + sizeof(*found);
  }
  return found->second;
}

}  // namespace gpuprof::symbolize
