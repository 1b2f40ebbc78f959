#include "snippets.h"
#include "wire/stack_arch.h"

using namespace gpuprof::unwind;

extern "C" {
extern const char snippet_frame_pushed[], snippet_frame_left[], snippet_frame_restored[], snippet_alloca_moved[],
    snippet_alloca_body[], snippet_signed[], snippet_signed_body[], snippet_leaf_saves_fp[], snippet_saved_apart[],
    snippet_outermost[], snippet_restorer[], snippet_other_register[], snippet_undescribed[], snippet_cold[];
}

TEST_CASE("hand-written functions have the expected rules, from the file and from memory", "[unwind]") {
  constexpr auto kInLink = gpuprof_unwind_kind(GPUPROF_UNWIND_SP | GPUPROF_UNWIND_IN_LINK);
  const auto leaf = [](int64_t cfa) { return GPUPROF_UNWIND_RULE(kInLink, GPUPROF_UNWIND_FP_SAME, cfa, 0); };
  check_snippets(
      {
          {snippet_frame_entry, GPUPROF_RULE_AT_ENTRY},
          {snippet_frame_pushed, sp_rule(48, -48)},
          {snippet_frame_left, GPUPROF_RULE_AT_ENTRY},
          {snippet_frame_restored, sp_rule(48, -48)},
          {snippet_alloca_moved, leaf(64)},
          {snippet_alloca_body, fp_rule_at(32, -32)},
          {snippet_signed, leaf(0)},
          {snippet_signed_body, GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_NOT_SAVED, 32, -32)},
          {snippet_leaf_saves_fp, GPUPROF_UNWIND_RULE(kInLink, GPUPROF_UNWIND_FP_AT_CFA, 16, -16)},
          {snippet_saved_apart, kNoRule},
          {snippet_outermost, kEnd},
          {snippet_restorer, kSignal},
          {snippet_other_register, kNoRule},
          {snippet_undescribed, kNoRule},
          {snippet_cold, sp_rule(64, -64)},
      },
      sp_rule(16, -16));
}
