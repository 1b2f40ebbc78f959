// Tests hand-made call frame information of aarch64, whose calls leave the return address in a register (AAPCS64).
#include "catch.h"
#include "frame_bytes.h"
#include "unwind/section_walk.h"

using namespace gpuprof::unwind;

namespace {

// Describes aarch64 for the reader of sections. Its rules are not converted, so that the test can check them.
struct Aarch64 {
  static constexpr uint64_t kFramePointer = 29;   // x29
  static constexpr uint64_t kStackPointer = 31;   // sp
  static constexpr uint64_t kReturnAddress = 30;  // x30, lr
  static constexpr bool kHasLinkRegister = true;

  using Rule = FrameRule;
  static Rule pack(const FrameRule& frame) { return frame; }
  static bool is_signal_frame(const CfaRule&) { return false; }
  static CfaRule plt_rule(const Expression&, uint64_t, uint64_t*) { return {}; }
};

using FrameRules = std::vector<std::pair<uint64_t, FrameRule>>;

// Builds the CIE that gcc and clang write: code alignment 4, data alignment -8, CFA = sp, no saved registers.
FrameBytes cie(unsigned return_address_column = 30) {
  FrameBytes bytes;
  bytes.begin().u32(0).u8(1).text("zR").uleb(4).sleb(-8).u8(return_address_column).uleb(1).u8(0x04);
  return bytes.all({0x0c, 31, 0}).end();
}

FrameRules read(const FrameBytes& frames) {
  FrameRules rules;
  const auto emit = [&](uint64_t pc, const FrameRule& rule) { rules.emplace_back(pc, rule); };
  const Bytes section{frames.bytes.data(), frames.bytes.size(), 0x1000};
  CHECK(SectionWalk<Aarch64, decltype(emit)>(section, Section::eh_frame, emit).run());
  return rules;
}

FrameRules frame_rules_of(const std::vector<uint8_t>& instructions) {
  return read(cie().function(0x4000, 0x40, instructions));
}

FrameRule one_frame_rule(const std::vector<uint8_t>& instructions) {
  const FrameRules rules = frame_rules_of(instructions);
  REQUIRE(rules.size() == 2);
  REQUIRE(rules.back() == std::pair<uint64_t, FrameRule>(0x4040, {}));
  return rules.front().second;
}

FrameRule in_link_register(uint64_t rule) {
  return {rule, {ReturnAddress::Kind::in_link_register}};
}

FrameRule at_cfa(uint64_t rule, int64_t offset) {
  return {rule, {ReturnAddress::Kind::at_cfa, offset}};
}

}  // namespace

TEST_CASE("a return address is in the link register until the prologue saves it", "[unwind]") {
  // stp x29, x30, [sp, -32]!; mov x29, sp; ...; ldp x29, x30, [sp], 32; ret
  const FrameRules rules =
      frame_rules_of({0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29, 0x44, 0xde, 0xdd, 0x0c, 31, 0});
  CHECK(rules == FrameRules{{0x4000, in_link_register(sp_rule(0))},
                            {0x4004, at_cfa(sp_rule(32, -32), -24)},
                            {0x4008, at_cfa(fp_rule_at(32, -32), -24)},
                            {0x4018, in_link_register(sp_rule(0))},
                            {0x4040, {}}});
}

TEST_CASE("a return address is in the link register throughout a leaf function", "[unwind]") {
  CHECK(one_frame_rule({}) == in_link_register(sp_rule(0)));
  CHECK(frame_rules_of({0x41, 0x0e, 16}) ==
        FrameRules{{0x4000, in_link_register(sp_rule(0))}, {0x4004, in_link_register(sp_rule(16))}, {0x4040, {}}});
  CHECK(one_frame_rule({0x9e, 3, 0x08, 30}) == in_link_register(sp_rule(0)));  // same_value
}

TEST_CASE("the rule of a return address follows where the function has saved it", "[unwind]") {
  CHECK(one_frame_rule({0x0e, 16, 0x9e, 2}) == at_cfa(sp_rule(16), -16));  // str x30, [sp, -16]!
  // The return address (CFA - 8) need not be next to the saved frame pointer (CFA - 64).
  CHECK(one_frame_rule({0x0e, 64, 0x9d, 8, 0x9e, 1}) == at_cfa(sp_rule(64, -64), -8));
  CHECK(one_frame_rule({0x07, 30}) == FrameRule{kEnd, {}});
  CHECK(one_frame_rule({0x09, 30, 9}) == FrameRule{});           // return address in x9
  CHECK(one_frame_rule({0x14, 30, 2}) == FrameRule{});           // val_offset
  CHECK(one_frame_rule({0x10, 30, 2, 0x8f, 8}) == FrameRule{});  // expression: *(sp + 8)
}

TEST_CASE("a CIE whose return address is not the link register gives no rules", "[unwind]") {
  CHECK(read(cie(32).function(0x4000, 0x40, {})).empty());
}
