#include "unwind/table_builder.h"

#include <algorithm>

#include "base/hash.h"

namespace gpuprof::unwind {
namespace {

constexpr uint64_t kNoRule = GPUPROF_UNWIND_NONE;
constexpr uint64_t kReach = UINT32_MAX;  // maximum length of the code that a table can cover, in bytes
constexpr uint16_t kNoneIndex = 0;

}  // namespace

TableBuilder::TableBuilder(const FrameSections& sections) : sections_(sections), table_(new Table) {
  table_->rules_.push_back(kNoRule);
  // On average, .eh_frame has a row per 4 bytes, and a function per 60 bytes.
  const uint64_t expected = std::min<uint64_t>(sections.size() / 4, Table::kMaxRows);
  row_offsets_.reserve(expected);
  row_rules_.reserve(expected);
  pieces_.reserve(expected / 12);
}

void TableBuilder::on_rule(uint64_t pc, uint64_t rule) {
  if (rule == kNoRule) {
    close_piece(pc);
    return;
  }
  if (!in_piece_) {
    open_piece(pc);
  }
  if (too_many_rows_) {
    return;
  }
  Piece& piece = pieces_.back();
  if (pc - piece.begin > kReach) {
    return;  // the piece is too long, and close_piece() will drop it
  }
  row_offsets_.push_back(static_cast<uint32_t>(pc - piece.begin));
  row_rules_.push_back(index_of(rule));
  ++piece.rows;
}

void TableBuilder::open_piece(uint64_t pc) {
  too_many_rows_ = too_many_rows_ || row_offsets_.size() >= Table::kMaxRows;
  in_piece_ = true;
  pieces_.push_back({pc, pc, static_cast<uint32_t>(row_offsets_.size()), 0});
}

void TableBuilder::close_piece(uint64_t pc) {
  if (!in_piece_) {
    return;
  }
  in_piece_ = false;
  Piece& piece = pieces_.back();
  piece.end = pc;
  // Linkers leave the descriptions of dropped functions at addresses near 0.
  if (piece.end <= piece.begin || piece.end - piece.begin > kReach || !sections_.is_code(piece.begin)) {
    row_offsets_.resize(piece.first_row);
    row_rules_.resize(piece.first_row);
    pieces_.pop_back();
  }
}

uint16_t TableBuilder::index_of(uint64_t rule) {
  Recent& recent = recent_[fold_multiply(rule, kHashMultiplier) % recent_.size()];
  if (recent.rule == rule) {
    return recent.index;
  }
  const auto found = indexes_.find(rule);
  if (found != indexes_.end()) {
    recent = {rule, found->second};
    return found->second;
  }
  if (table_->rules_.size() == Table::kMaxRules) {
    return kNoneIndex;
  }
  const auto index = static_cast<uint16_t>(table_->rules_.size());
  table_->rules_.push_back(rule);
  indexes_.emplace(rule, index);
  recent = {rule, index};
  return index;
}

void TableBuilder::begin_fallback() {
  close_piece(0);
  first_choice_ = pieces_.size();
}

// Sorts the pieces. Drops each piece added after begin_fallback() that overlaps a piece added before.
void TableBuilder::merge_fallback() {
  const auto by_begin = [](const Piece& a, const Piece& b) { return a.begin < b.begin; };
  const auto middle = pieces_.begin() + static_cast<ptrdiff_t>(std::min(first_choice_, pieces_.size()));
  std::stable_sort(pieces_.begin(), middle, by_begin);
  if (middle == pieces_.end()) {
    return;
  }
  // For each piece added before begin_fallback(): the greatest end of this piece and of all that begin before it.
  std::vector<uint64_t> reach;
  uint64_t furthest = 0;
  for (auto piece = pieces_.begin(); piece != middle; ++piece) {
    furthest = std::max(furthest, piece->end);
    reach.push_back(furthest);
  }
  const auto overlaps = [&](const Piece& piece) {
    const auto after = std::lower_bound(pieces_.begin(), middle, Piece{.begin = piece.end}, by_begin);
    return after != pieces_.begin() && reach[static_cast<size_t>(after - pieces_.begin()) - 1] > piece.begin;
  };
  pieces_.erase(std::remove_if(middle, pieces_.end(), overlaps), pieces_.end());
  std::stable_sort(pieces_.begin(), pieces_.end(), by_begin);
}

std::unique_ptr<Table> TableBuilder::finish() {
  close_piece(0);
  merge_fallback();
  if (too_many_rows_ || pieces_.empty()) {
    return nullptr;
  }
  constexpr uint64_t kPageMask = (uint64_t{1} << Table::kPageShift) - 1;
  table_->base_ = pieces_.front().begin & ~kPageMask;
  table_->pcs_.reserve(row_offsets_.size() + 2);
  table_->rule_indexes_.reserve(row_offsets_.size() + 2);
  uint64_t end = table_->base_;
  write_row(end, kNoneIndex);
  for (const Piece& piece : pieces_) {
    const uint64_t from = std::max(piece.begin, end);
    if (piece.end <= from) {
      continue;
    }
    if (piece.end - table_->base_ > kReach) {
      break;
    }
    if (from > end) {
      write_row(end, kNoneIndex);
    }
    write(piece, from);
    end = piece.end;
  }
  write_row(end, kNoneIndex);
  if (table_->too_sparse()) {
    return nullptr;
  }
  table_->pcs_.shrink_to_fit();
  table_->rule_indexes_.shrink_to_fit();
  table_->index_pages();
  return std::move(table_);
}

void TableBuilder::write(const Piece& piece, uint64_t from) {
  for (uint32_t i = 0; i < piece.rows; ++i) {
    const uint32_t row = piece.first_row + i;
    const uint64_t next = i + 1 < piece.rows ? piece.begin + row_offsets_[row + 1] : piece.end;
    if (next > from) {
      write_row(std::max(from, piece.begin + row_offsets_[row]), row_rules_[row]);
    }
  }
}

void TableBuilder::write_row(uint64_t pc, uint16_t rule) {
  const auto offset = static_cast<uint32_t>(pc - table_->base_);
  std::vector<uint32_t>& pcs = table_->pcs_;
  std::vector<uint16_t>& indexes = table_->rule_indexes_;
  if (!pcs.empty() && pcs.back() == offset) {
    pcs.pop_back();
    indexes.pop_back();
  }
  if (indexes.empty() || indexes.back() != rule) {
    pcs.push_back(offset);
    indexes.push_back(rule);
  }
}

}  // namespace gpuprof::unwind
