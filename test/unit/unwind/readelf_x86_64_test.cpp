#include "readelf.h"
#include "wire/stack.h"

namespace gpuprof::unwind {

const char* const readelf_fp = "rbp";

ReadelfRule readelf_rule(const std::string& cfa, const std::string& fp, const std::string& ra) {
  ReadelfRule expected;
  expected.text.append(cfa).append(" fp ").append(fp).append(" ra ").append(ra);
  if (ra == "u") {
    expected.rule = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_END, 0, 0, 0);
    return expected;
  }
  if (cfa == "exp" || fp == "exp") {
    return expected;
  }
  const auto sp_offset = number_after(cfa, "rsp");
  const auto fp_offset = number_after(cfa, "rbp");
  const auto saved = number_after(fp, "c");
  const bool same = fp == "u" || fp == "s";
  if (ra != "c-8" || (!sp_offset && !fp_offset) || (!same && !saved)) {
    expected.rule = GPUPROF_UNWIND_NONE;
    return expected;
  }
  expected.rule = GPUPROF_UNWIND_RULE(sp_offset ? GPUPROF_UNWIND_SP : GPUPROF_UNWIND_FP,
                                      same ? GPUPROF_UNWIND_FP_SAME : GPUPROF_UNWIND_FP_AT_CFA,
                                      sp_offset ? *sp_offset : *fp_offset, same ? 0 : *saved);
  return expected;
}

}  // namespace gpuprof::unwind
