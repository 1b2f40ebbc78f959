// One row of the table that call frame information describes (DWARF 5, 6.4.1), for the stack pointer, the frame pointer
// and the return address. Internal to src/unwind.
#pragma once

#include <cstdint>

#include "unwind/cursor.h"

namespace gpuprof::unwind {

// Points into the section's bytes, which must outlive the Expression.
struct Expression {
  const uint8_t* data = nullptr;
  uint64_t size = 0;

  [[nodiscard]] Cursor cursor() const { return {data, data + size, 0}; }
};

// How to restore a register of the caller.
struct RegisterRule {
  enum class Kind : uint8_t { unspecified, undefined, same, at_cfa, at_expression, other };
  Kind kind = Kind::unspecified;
  int64_t offset = 0;  // used with Kind::at_cfa
  Expression expression;
};

struct Row {
  bool cfa_known = false;
  bool cfa_by_expression = false;
  uint64_t cfa_register = 0;
  int64_t cfa_offset = 0;
  Expression cfa_expression;
  RegisterRule fp;
  RegisterRule ra;
};

struct Cie {
  bool usable = false;
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
  uint8_t pointer_encoding = 0;
  uint64_t code_alignment = 0;
  int64_t data_alignment = 0;
  Row initial;
};

}  // namespace gpuprof::unwind
