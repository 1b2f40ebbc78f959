// Builds a sorted table from rules that come in any order. Internal to src/unwind.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "unwind/cfi.h"
#include "unwind/frame_sections.h"
#include "unwind/table.h"

namespace gpuprof::unwind {

class TableBuilder final : public RuleSink {
 public:
  explicit TableBuilder(const FrameSections& sections);

  void on_rule(uint64_t pc, uint64_t rule) override;

  // After this call, on_rule() adds fallback rules. They are used only where the rules added before leave a gap.
  void begin_fallback();

  // Returns the table; null if it has no rules or too many. Call it once.
  std::unique_ptr<Table> finish();

 private:
  // Consecutive rules that cover [begin, end) without a gap.
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t first_row = 0;
    uint32_t rows = 0;
  };
  void open_piece(uint64_t pc);
  void close_piece(uint64_t pc);
  uint16_t index_of(uint64_t rule);
  void merge_fallback();
  void write(const Piece& piece, uint64_t from);
  void write_row(uint64_t pc, uint16_t rule);

  const FrameSections& sections_;
  bool in_piece_ = false;
  bool too_many_rows_ = false;
  std::vector<Piece> pieces_;
  size_t first_choice_ = SIZE_MAX;     // number of pieces when begin_fallback() was called; SIZE_MAX before that call
  std::vector<uint32_t> row_offsets_;  // relative to the piece's begin
  std::vector<uint16_t> row_rules_;
  std::unordered_map<uint64_t, uint16_t> indexes_;
  struct Recent {
    uint64_t rule = 0;
    uint16_t index = 0;
  };
  std::array<Recent, 256> recent_{};  // caches rules by hash, because most rows use the same few rules
  std::unique_ptr<Table> table_;
};

}  // namespace gpuprof::unwind
