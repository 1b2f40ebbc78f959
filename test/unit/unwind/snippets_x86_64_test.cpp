#include "snippets.h"

using namespace gpuprof::unwind;

extern "C" {
extern const char snippet_frame_pushed[], snippet_frame_body[], snippet_frame_left[], snippet_frame_restored[],
    snippet_omitted_body[], snippet_omitted_popped[], snippet_realign_r10[], snippet_realign_body[],
    snippet_realign_end[], snippet_outermost[], snippet_restorer[], snippet_saved_sp[], snippet_undescribed[],
    snippet_cold[];
}

TEST_CASE("hand-written functions have the expected rules, from the file and from memory", "[unwind]") {
  const uint64_t realigned = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_DEREF_FP, GPUPROF_UNWIND_FP_AT_FP, -8, 0);
  check_snippets(
      {
          {snippet_frame_entry, sp_rule(8)},
          {snippet_frame_pushed, sp_rule(16, -16)},
          {snippet_frame_body, fp_rule_at(16, -16)},
          {snippet_frame_left, sp_rule(8)},
          {snippet_frame_restored, fp_rule_at(16, -16)},
          {snippet_omitted_body, sp_rule(1024, -24)},
          {snippet_omitted_popped, sp_rule(16)},
          {snippet_realign_r10, kNoRule},
          {snippet_realign_body, realigned},
          // After `popq %rbp`, this rule for rbp is wrong, as in code from gcc. This does no harm: no call follows.
          {snippet_realign_end, GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_AT_FP, 8, 0)},
          {snippet_outermost, kEnd},
          {snippet_restorer, kSignal},
          {snippet_saved_sp, kNoRule},
          {snippet_undescribed, kNoRule},
          {snippet_cold, sp_rule(64, -16)},
      },
      sp_rule(16, -16));
}
