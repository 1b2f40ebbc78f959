#include <fcntl.h>
#include <link.h>

#include "base/unique_fd.h"
#include "catch.h"
#include "frame_bytes.h"
#include "own_modules.h"
#include "symbolize/elf/elf_image.h"
#include "unwind/table.h"

using namespace gpuprof;
using namespace gpuprof::unwind;

extern "C" {
extern const char snippet_frame_entry[], snippet_frame_pushed[], snippet_frame_body[], snippet_frame_left[],
    snippet_frame_restored[], snippet_omitted_body[], snippet_omitted_popped[], snippet_realign_r10[],
    snippet_realign_body[], snippet_realign_end[], snippet_outermost[], snippet_restorer[], snippet_saved_sp[],
    snippet_undescribed[], snippet_cold[], snippet_debug_frame[];
}

namespace {

uint64_t address(const char* place) {
  return reinterpret_cast<uint64_t>(place);
}

}  // namespace

TEST_CASE("hand-written functions have the expected rules, from the file and from memory", "[unwind]") {
  const UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto elf = symbolize::ElfImage::parse(symbolize::ByteSource::file(fd.get()));
  REQUIRE(elf);
  const auto table = Table::build(*elf);
  REQUIRE(table);
  const OwnModule module = OwnModule::at(address(snippet_frame_entry));
  REQUIRE(module.header != 0);

  const uint64_t realigned = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_DEREF_FP, GPUPROF_UNWIND_FP_AT_FP, -8, 0);
  const std::vector<std::pair<const char*, uint64_t>> expected = {
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
  };
  for (const auto& [place, rule] : expected) {
    CAPTURE(&place - &expected.front().first, address(place) - module.bias);
    CHECK(table->find(address(place) - module.bias) == rule);
    CHECK(module.rule_at(address(place)) == rule);
  }
  // .debug_frame is only in the file, not in memory, so the module has no rule for this function.
  CHECK(module.rule_at(address(snippet_debug_frame)) == kNoRule);
  CHECK(table->find(address(snippet_debug_frame) - module.bias) == sp_rule(16, -16));
}
