// Emits all rules of a section, function by function. Internal to src/unwind.
#pragma once

#include <cstdint>

#include "unwind/cfa_program.h"
#include "unwind/cfi.h"
#include "unwind/entries.h"
#include "unwind/row_rule.h"

namespace gpuprof::unwind {

// `Emit` is called like RuleSink::on_rule(), with an address and an Arch::Rule.
template <typename Arch, typename Emit>
class SectionWalk {
 public:
  SectionWalk(const Bytes& all, Section section, const Emit& emit) : all_(all), section_(section), emit_(emit) {}

  bool run() {
    uint64_t offset = 0;
    Entry entry;
    while (offset < all_.size) {
      if (!read_entry(all_, section_, &offset, &entry)) {
        return false;
      }
      if (entry.kind == Entry::Kind::fde) {
        read_function(entry);
      }
    }
    return true;
  }

 private:
  using Rule = typename Arch::Rule;

  // Limits the additional rows for PLT entries, in which the rule changes, per section.
  static constexpr uint64_t kMaxPltRows = 1 << 20;

  void read_function(const Entry& entry) {
    if (entry.cie_offset != cie_offset_) {
      cie_offset_ = entry.cie_offset;
      load_cie<Arch>(all_, section_, entry.cie_offset, &cie_);
    }
    Function function;
    if (!cie_.usable || !parse_fde(entry.body, cie_, &function)) {
      return;
    }
    CfaProgram<Arch> program(cie_, function.instructions, function.begin, function.end);
    has_last_ = false;
    while (program.next()) {
      emit_row(program);
    }
    emit_(function.end, Rule{});
  }

  void emit_row(const CfaProgram<Arch>& program) {
    uint64_t pc = program.begin();
    while (pc < program.upto()) {
      uint64_t until = UINT64_MAX;
      Rule rule = program.failed() ? Rule{} : Arch::pack(rule_of_row<Arch>(cie_, program.row(), pc, &until));
      if (until < program.upto() && ++plt_rows_ > kMaxPltRows) {
        rule = Rule{};
        until = UINT64_MAX;
      }
      if (!has_last_ || rule != last_) {
        emit_(pc, rule);
        has_last_ = true;
        last_ = rule;
      }
      pc = until;
    }
  }

  const Bytes& all_;
  Section section_;
  const Emit& emit_;
  uint64_t cie_offset_ = UINT64_MAX;
  Cie cie_;
  uint64_t plt_rows_ = 0;
  bool has_last_ = false;
  Rule last_{};
};

}  // namespace gpuprof::unwind
