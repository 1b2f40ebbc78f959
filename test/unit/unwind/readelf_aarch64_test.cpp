#include "readelf.h"
#include "wire/stack.h"

namespace gpuprof::unwind {

const char* const readelf_fp = "x29";

// A missing column of the return address means that it is in the link register. "u" in it looks the same if the return
// address is undefined, as in a thread's outermost function.
ReadelfRule readelf_rule(const std::string& cfa, const std::string& fp, const std::string& ra) {
  ReadelfRule expected;
  expected.text.append(cfa).append(" fp ").append(fp).append(" ra ").append(ra);
  if (cfa == "exp" || fp == "exp" || ra == "exp") {
    return expected;
  }
  const auto sp_offset = number_after(cfa, "sp");
  const auto fp_offset = number_after(cfa, "x29");
  const auto saved = number_after(fp, "c");
  const auto return_saved = number_after(ra, "c");
  const bool same = fp == "u" || fp == "s";
  const bool in_link = ra == "u" || ra == "s";
  if ((!sp_offset && !fp_offset) || (!same && !saved) || (!in_link && !return_saved) ||
      (saved && return_saved && *return_saved != *saved + 8)) {
    expected.rule = GPUPROF_UNWIND_NONE;
    return expected;
  }
  const unsigned kind = (sp_offset ? GPUPROF_UNWIND_SP : GPUPROF_UNWIND_FP) | (in_link ? GPUPROF_UNWIND_IN_LINK : 0);
  const gpuprof_unwind_fp how = saved     ? GPUPROF_UNWIND_FP_AT_CFA
                                : in_link ? GPUPROF_UNWIND_FP_SAME
                                          : GPUPROF_UNWIND_FP_NOT_SAVED;
  expected.may_end = in_link;
  expected.rule =
      GPUPROF_UNWIND_RULE(kind, how, sp_offset ? *sp_offset : *fp_offset, saved ? *saved : return_saved.value_or(0));
  return expected;
}

}  // namespace gpuprof::unwind
