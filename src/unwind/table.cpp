#include "unwind/table.h"

#include <algorithm>

#include "unwind/frame_sections.h"
#include "unwind/table_builder.h"

namespace gpuprof::unwind {

std::shared_ptr<const Table> Table::build(const symbolize::ElfImage& image) {
  const std::optional<FrameSections> sections = read_frame_sections(image);
  return sections ? build(image, *sections) : nullptr;
}

std::shared_ptr<const Table> Table::build(std::span<const uint8_t> image) {
  const auto parsed = symbolize::ElfImage::parse(symbolize::ByteSource::memory(image));
  return parsed ? build(*parsed) : nullptr;
}

std::shared_ptr<const Table> Table::build(const symbolize::ElfImage& image, const FrameSections& sections) {
  TableBuilder builder(sections);
  // If a section is damaged, use the rules before the damage.
  static_cast<void>(read_section(sections.eh_frame.view(), Section::eh_frame, builder));
  builder.begin_fallback();
  static_cast<void>(read_section(sections.debug_frame.view(), Section::debug_frame, builder));
  std::unique_ptr<Table> table = builder.finish();
  if (table) {
    table->segments_ = image.segments();
  }
  return table;
}

uint64_t Table::find(uint64_t vaddr) const {
  const uint64_t offset = vaddr - base_;
  const uint64_t page = offset >> kPageShift;
  if (vaddr < base_ || page >= page_count()) {
    return GPUPROF_UNWIND_NONE;
  }
  const auto first = pcs_.begin() + pages_[page];
  const auto last = pcs_.begin() + pages_[page + 1] + 1;
  const auto after = std::upper_bound(first, last, offset);
  return rules_[rule_indexes_[static_cast<size_t>(after - pcs_.begin()) - 1]];
}

uint64_t Table::bytes() const {
  return pcs_.capacity() * sizeof(uint32_t) + rule_indexes_.capacity() * sizeof(uint16_t) +
         rules_.capacity() * sizeof(uint64_t) + pages_.capacity() * sizeof(uint32_t);
}

bool Table::valid() const {
  if (pcs_.empty() || pcs_.size() != rule_indexes_.size() || pcs_.front() != 0 || rules_.empty() ||
      rules_.front() != GPUPROF_UNWIND_NONE || rules_.size() > kMaxRules || rule_indexes_.back() != 0 ||
      base_ > UINT64_MAX - UINT32_MAX || too_sparse()) {
    return false;
  }
  const bool ascending = std::adjacent_find(pcs_.begin(), pcs_.end(), std::greater_equal<>()) == pcs_.end();
  return ascending && std::all_of(rule_indexes_.begin(), rule_indexes_.end(),
                                  [this](uint16_t index) { return index < rules_.size(); });
}

bool Table::too_sparse() const {
  return (pcs_.back() >> kPageShift) > pcs_.size() + size_t{kMaxEmptyPages};
}

void Table::index_pages() {
  const size_t pages = (pcs_.back() >> kPageShift) + size_t{1};
  pages_.clear();
  pages_.reserve(pages + 1);
  uint32_t row = 0;
  for (size_t page = 0; page <= pages; ++page) {
    const uint64_t start = uint64_t{page} << kPageShift;
    while (row + 1 < pcs_.size() && pcs_[row + 1] <= start) {
      ++row;
    }
    pages_.push_back(row);
  }
}

}  // namespace gpuprof::unwind
