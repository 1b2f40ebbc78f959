// Tests hand-made call frame information of x86-64, and all of the reader that does not depend on the processor.
#include "catch.h"
#include "frame_bytes.h"
#include "unwind/cfi.h"

using namespace gpuprof::unwind;

namespace {

Rules of_instructions(const std::vector<uint8_t>& instructions) {
  return rules_of(FrameBytes().usual_cie().function(0x4000, 0x40, instructions).bytes);
}

uint64_t one_rule(const std::vector<uint8_t>& instructions) {
  const Rules rules = of_instructions(instructions);
  REQUIRE(rules.size() >= 2);
  REQUIRE(rules.back() == std::pair<uint64_t, uint64_t>(0x4040, kNoRule));
  return rules.front().second;
}

constexpr uint64_t deref(gpuprof_unwind_kind kind, int64_t offset) {
  return GPUPROF_UNWIND_RULE(kind, GPUPROF_UNWIND_FP_SAME, offset, 0);
}

}  // namespace

TEST_CASE("rules keep signed offsets", "[unwind]") {
  for (const int64_t cfa : {int64_t{0}, int64_t{8}, int64_t{-8}, (int64_t{1} << 28) - 1, -(int64_t{1} << 28)}) {
    for (const int64_t fp : {int64_t{0}, int64_t{-16}, int64_t{40}, (int64_t{1} << 28) - 1, -(int64_t{1} << 28)}) {
      const uint64_t rule = fp_rule_at(cfa, fp);
      CHECK(GPUPROF_UNWIND_RULE_KIND(rule) == GPUPROF_UNWIND_FP);
      CHECK(GPUPROF_UNWIND_RULE_FP(rule) == GPUPROF_UNWIND_FP_AT_CFA);
      CHECK(GPUPROF_UNWIND_RULE_CFA_OFFSET(rule) == cfa);
      CHECK(GPUPROF_UNWIND_RULE_FP_OFFSET(rule) == fp);
    }
  }
}

TEST_CASE("a function with a frame pointer has SP and FP rules", "[unwind]") {
  // push rbp; mov rbp, rsp; ...; leave; ret, with the epilogue in the middle
  const Rules rules = of_instructions(
      {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0a, 0x0c, 7, 8, 0xc6, 0x41, 0x0b, 0x02, 9, 0x0c, 7, 8, 0xc6});
  CHECK(rules == Rules{{0x4000, sp_rule(8)},
                       {0x4001, sp_rule(16, -16)},
                       {0x4004, fp_rule_at(16, -16)},
                       {0x400c, sp_rule(8)},
                       {0x400d, fp_rule_at(16, -16)},
                       {0x4016, sp_rule(8)},
                       {0x4040, kNoRule}});
}

TEST_CASE("every advance instruction moves to its address", "[unwind]") {
  const Rules rules =
      of_instructions({0x02, 1, 0x0e, 16, 0x03, 2, 0,    0x0e, 24,   0x04, 3,    0, 0, 0, 0x0e, 32, 0x1d, 4,    0,
                       0,    0, 0,    0,  0,    0, 0x0e, 40,   0x01, 0x10, 0x40, 0, 0, 0, 0,    0,  0,    0x0e, 48});
  CHECK(rules == Rules{{0x4000, sp_rule(8)},
                       {0x4001, sp_rule(16)},
                       {0x4003, sp_rule(24)},
                       {0x4006, sp_rule(32)},
                       {0x400a, sp_rule(40)},
                       {0x4010, sp_rule(48)},
                       {0x4040, kNoRule}});
}

TEST_CASE("advancing past the end of the function ends its rules", "[unwind]") {
  CHECK(of_instructions({0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16}) == Rules{{0x4000, sp_rule(8)}, {0x4040, kNoRule}});
  // Advancing beyond the end of the address space gives no rule.
  CHECK(of_instructions({0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0e, 16}).front().second == kNoRule);
}

TEST_CASE("the CFA is a rule in all forms that rules can express", "[unwind]") {
  CHECK(one_rule({0x0e, 0x80, 0x01}) == sp_rule(128));                        // def_cfa_offset
  CHECK(one_rule({0x12, 7, 0x7e}) == sp_rule(16));                            // def_cfa_sf
  CHECK(one_rule({0x13, 0x7d}) == sp_rule(24));                               // def_cfa_offset_sf
  CHECK(one_rule({0x0c, 6, 16}) == deref(GPUPROF_UNWIND_FP, 16));             // def_cfa
  CHECK(one_rule({0x0f, 2, 0x77, 0x20}) == sp_rule(32));                      // breg7 32
  CHECK(one_rule({0x0f, 4, 0x77, 0x20, 0x23, 8}) == sp_rule(40));             // breg7 32; plus_uconst 8
  CHECK(one_rule({0x0f, 3, 0x92, 6, 0x10}) == deref(GPUPROF_UNWIND_FP, 16));  // bregx 6 16
  CHECK(one_rule({0x0f, 3, 0x76, 0x78, 0x06}) == deref(GPUPROF_UNWIND_DEREF_FP, -8));
  CHECK(one_rule({0x0f, 3, 0x77, 0x18, 0x06}) == deref(GPUPROF_UNWIND_DEREF_SP, 24));
  CHECK(one_rule({0x0c, 10, 0}) == kNoRule);                           // def_cfa with r10
  CHECK(one_rule({0x0f, 5, 0x77, 0x18, 0x06, 0x23, 8}) == kNoRule);    // *(rsp + 24) + 8
  CHECK(one_rule({0x0f, 4, 0x77, 0x18, 0x06, 0x06}) == kNoRule);       // **(rsp + 24)
  CHECK(one_rule({0x0f, 0}) == kNoRule);                               // empty expression
  CHECK(one_rule({0x0e, 0x80, 0x80, 0x80, 0x80, 0x01}) == kNoRule);    // offset of 256 MiB
  CHECK(one_rule({0x0f, 2, 0x77, 0x18, 0x0e, 16}) == kNoRule);         // def_cfa_offset after an expression
  CHECK(one_rule({0x0f, 2, 0x77, 0x18, 0x0c, 7, 16}) == sp_rule(16));  // def_cfa after an expression
}

TEST_CASE("the frame pointer is a rule in all forms that rules can express", "[unwind]") {
  CHECK(one_rule({0x86, 2}) == sp_rule(8, -16));       // offset
  CHECK(one_rule({0x05, 6, 2}) == sp_rule(8, -16));    // offset_extended
  CHECK(one_rule({0x11, 6, 0x7e}) == sp_rule(8, 16));  // offset_extended_sf
  CHECK(one_rule({0x2f, 6, 2}) == sp_rule(8, 16));     // GNU_negative_offset_extended
  CHECK(one_rule({0x86, 2, 0xc6}) == sp_rule(8));      // restore
  CHECK(one_rule({0x86, 2, 0x06, 6}) == sp_rule(8));   // restore_extended
  CHECK(one_rule({0x86, 2, 0x08, 6}) == sp_rule(8));   // same_value
  CHECK(one_rule({0x86, 2, 0x07, 6}) == sp_rule(8));   // undefined
  CHECK(one_rule({0x09, 6, 9}) == kNoRule);            // saved rbp in r9
  CHECK(one_rule({0x14, 6, 2}) == kNoRule);            // val_offset
  CHECK(one_rule({0x15, 6, 2}) == kNoRule);            // val_offset_sf
  CHECK(one_rule({0x16, 6, 2, 0x76, 0}) == kNoRule);   // val_expression
  CHECK(one_rule({0x10, 6, 2, 0x76, 0x70}) ==          // expression: *(rbp - 16)
        GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_AT_FP, 8, -16));
  CHECK(one_rule({0x0e, 32, 0x10, 6, 2, 0x77, 8}) == sp_rule(32, -24));         // expression: *(rsp + 8)
  CHECK(one_rule({0x0c, 6, 16, 0x10, 6, 2, 0x77, 8}) == kNoRule);               // *(rsp + 8), but CFA - rsp is unknown
  CHECK(one_rule({0x10, 6, 3, 0x76, 0, 0x06}) == kNoRule);                      // **rbp
  CHECK(one_rule({0x83, 3, 0x10, 3, 2, 0x77, 8, 0x09, 12, 13}) == sp_rule(8));  // rbx and r12, which rules do not use
  CHECK(one_rule({0x2e, 0x10, 0x2d, 0x00}) == sp_rule(8));                      // GNU_args_size, GNU_window_save, nop
}

TEST_CASE("the return address must be at CFA - 8, or undefined", "[unwind]") {
  CHECK(one_rule({0x07, 16}) == kEnd);
  CHECK(one_rule({0x90, 2}) == kNoRule);            // return address at CFA - 16
  CHECK(one_rule({0x09, 16, 1}) == kNoRule);        // return address in rdx
  CHECK(one_rule({0x07, 16, 0xd0}) == sp_rule(8));  // return address undefined, then restored
  CHECK(one_rule({0x09, 7, 8}) == kNoRule);         // the stack pointer in r8
}

TEST_CASE("the expression of a PLT is one rule, or a row for each entry", "[unwind]") {
  const auto plt = [](uint8_t threshold) {
    return std::vector<uint8_t>{0x0f, 11,   0x77, 8,   0x80, 0, 0x3f, 0x1a, static_cast<uint8_t>(0x30 + threshold),
                                0x2a, 0x33, 0x24, 0x22};
  };
  CHECK(of_instructions(plt(11)) == Rules{{0x4000, kPlt}, {0x4040, kNoRule}});
  // If a PLT pushes at another offset than 11, each of its entries needs its own row.
  CHECK(of_instructions(plt(9)) == Rules{{0x4000, sp_rule(8)},
                                         {0x4009, sp_rule(16)},
                                         {0x4010, sp_rule(8)},
                                         {0x4019, sp_rule(16)},
                                         {0x4020, sp_rule(8)},
                                         {0x4029, sp_rule(16)},
                                         {0x4030, sp_rule(8)},
                                         {0x4039, sp_rule(16)},
                                         {0x4040, kNoRule}});
  // No real PLT covers 2^40 bytes, so the number of rows is limited.
  const Rules huge = rules_of(FrameBytes().usual_cie().function(0, uint64_t{1} << 40, plt(9)).bytes);
  CHECK(huge.size() < (size_t{1} << 20) + 10);
  CHECK(huge.back().first == uint64_t{1} << 40);
}

TEST_CASE("a signal frame has a rule of its own", "[unwind]") {
  const std::vector<uint8_t> kernel = {0x0f, 4,    0x77, 0xa0, 0x01, 0x06, 0x10, 7,    3,
                                       0x77, 0xa0, 0x01, 0x10, 16,   3,    0x77, 0xa8, 0x01};
  FrameBytes bytes;
  bytes.begin().u32(0).u8(1).text("zRS").uleb(1).sleb(-8).u8(16).uleb(1).u8(0x04).end();
  const size_t cie_size = bytes.bytes.size();
  bytes.function(0x4000, 9, kernel).function(0x5000, 9, {0x0c, 7, 8, 0x90, 1});
  CHECK(cie_size > 8);
  CHECK(rules_of(bytes.bytes) == Rules{{0x4000, kSignal}, {0x4009, kNoRule}, {0x5000, sp_rule(8)}, {0x5009, kNoRule}});
  // Without the signal augmentation, rules cannot express the frame.
  CHECK(one_rule(kernel) == kNoRule);
}

TEST_CASE("unknown or incomplete instructions leave no rule after them", "[unwind]") {
  const Rules expected{{0x4000, sp_rule(8)}, {0x4001, kNoRule}, {0x4040, kNoRule}};
  CHECK(of_instructions({0x41, 0x3f}) == expected);            // unknown instruction
  CHECK(of_instructions({0x41, 0x0b}) == expected);            // nothing to restore
  CHECK(of_instructions({0x41, 0x0e}) == expected);            // the operand is missing
  CHECK(of_instructions({0x41, 0x0f, 40, 0x77}) == expected);  // an expression longer than the instructions
  CHECK(of_instructions({0x41, 0x0e, 0xff, 0xff}) == expected);
  std::vector<uint8_t> remember = {0x41};
  remember.insert(remember.end(), 100, 0x0a);
  CHECK(of_instructions(remember) == expected);
  // The product with the alignment exceeds 64 bits.
  CHECK(of_instructions({0x41, 0x86, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}) == expected);
}

TEST_CASE("function addresses are read in all encodings that have a known base", "[unwind]") {
  const auto with = [](uint8_t encoding, auto pointers) {
    FrameBytes bytes;
    bytes.usual_cie(encoding).begin();
    const auto id = static_cast<uint32_t>(bytes.bytes.size());
    bytes.u32(id);
    pointers(bytes);
    bytes.uleb(0).end();
    return rules_of(bytes.bytes);
  };
  const auto here = [](const FrameBytes& bytes) { return 0x1000 + bytes.bytes.size(); };
  const Rules expected{{0x4000, sp_rule(8)}, {0x4040, kNoRule}};
  CHECK(with(0x00, [](FrameBytes& b) { b.u64(0x4000).u64(0x40); }) == expected);
  CHECK(with(0x01, [](FrameBytes& b) { b.uleb(0x4000).uleb(0x40); }) == expected);
  CHECK(with(0x02, [](FrameBytes& b) { b.u16(0x4000).u16(0x40); }) == expected);
  CHECK(with(0x03, [](FrameBytes& b) { b.u32(0x4000).u32(0x40); }) == expected);
  CHECK(with(0x09, [](FrameBytes& b) { b.sleb(0x4000).sleb(0x40); }) == expected);
  CHECK(with(0x0a, [](FrameBytes& b) { b.u16(0x4000).u16(0x40); }) == expected);
  CHECK(with(0x0c, [](FrameBytes& b) { b.u64(0x4000).u64(0x40); }) == expected);
  CHECK(with(0x1b, [&](FrameBytes& b) { b.u32(static_cast<uint32_t>(0x4000 - here(b))).u32(0x40); }) == expected);
  CHECK(with(0x1c, [&](FrameBytes& b) { b.u64(0x4000 - here(b)).u64(0x40); }) == expected);
  CHECK(with(0x50, [&](FrameBytes& b) {
          while (here(b) % 8 != 0) {
            b.u8(0);
          }
          b.u64(0x4000).u64(0x40);
        }) == expected);
  // Pointers in these encodings are relative to an unknown base, or indirect outside of the section.
  for (const uint8_t encoding : {0x2b, 0x3b, 0x4b, 0x9b, 0xff}) {
    CHECK(with(encoding, [](FrameBytes& b) { b.u32(0x4000).u32(0x40); }).empty());
  }
  CHECK(with(0x05, [](FrameBytes& b) { b.u64(0x4000).u64(0x40); }).empty());
}

TEST_CASE("known augmentations are read, and unknown ones rejected", "[unwind]") {
  const auto with = [](const std::string& names, const std::vector<uint8_t>& data) {
    FrameBytes bytes;
    bytes.begin().u32(0).u8(1).text(names).uleb(1).sleb(-8).u8(16).uleb(data.size()).all(data);
    bytes.all({0x0c, 7, 8, 0x90, 1}).end();
    return rules_of(bytes.function(0x4000, 0x40, {}).bytes);
  };
  const Rules expected{{0x4000, sp_rule(8)}, {0x4040, kNoRule}};
  CHECK(with("zR", {0x04}) == expected);
  CHECK(with("zPLR", {0x9b, 1, 2, 3, 4, 0x1b, 0x04}) == expected);  // personality: indirect, pc-relative
  CHECK(with("zPLR", {0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b, 0x04}) == expected);
  CHECK(with("zLPRB", {0x1b, 0xff, 0x04}) == expected);  // no personality
  CHECK(with("zRG", {0x04}) == expected);
  CHECK(with("zPR", {0x1b, 1, 2}).empty());  // cut short
  CHECK(with("zX", {0x04}).empty());
  CHECK(with("R", {0x04}).empty());  // without 'z' the length is unknown
}

TEST_CASE("CIE versions of .eh_frame and .debug_frame are read or rejected", "[unwind]") {
  const auto eh_frame = [](unsigned version, bool wide) {
    FrameBytes bytes;
    bytes.begin(wide).u32(0).u8(version).text("").uleb(1).sleb(-8).u8(16).all({0x0c, 7, 8, 0x90, 1}).end();
    bytes.begin(wide);
    bytes.u32(static_cast<uint32_t>(bytes.bytes.size())).u64(0x4000).u64(0x40).end();
    return rules_of(bytes.bytes);
  };
  const Rules expected{{0x4000, sp_rule(8)}, {0x4040, kNoRule}};
  CHECK(eh_frame(1, false) == expected);
  CHECK(eh_frame(3, false) == expected);
  CHECK(eh_frame(1, true) == expected);
  CHECK(eh_frame(2, false).empty());
  CHECK(eh_frame(4, false).empty());

  const auto debug_frame = [](unsigned version, bool wide, unsigned address_size = 8) {
    FrameBytes bytes;
    bytes.u8(0).u8(0).u8(0).u8(0);  // an empty entry, so that the offset of the CIE in the section is 4, not 0
    bytes.begin(wide);
    wide ? bytes.u64(UINT64_MAX) : bytes.u32(UINT32_MAX);
    bytes.u8(version).text("");
    if (version == 4) {
      bytes.u8(address_size).u8(0);
    }
    bytes.uleb(1).sleb(-8).u8(16).all({0x0c, 7, 8, 0x90, 1}).end().begin(wide);
    wide ? bytes.u64(4) : bytes.u32(4);
    return rules_of(bytes.u64(0x4000).u64(0x40).all({0x41, 0x0e, 16}).end().bytes, Section::debug_frame);
  };
  const Rules two{{0x4000, sp_rule(8)}, {0x4001, sp_rule(16)}, {0x4040, kNoRule}};
  CHECK(debug_frame(1, false) == two);
  CHECK(debug_frame(3, false) == two);
  CHECK(debug_frame(4, false) == two);
  CHECK(debug_frame(4, true) == two);
  CHECK(debug_frame(4, false, 4).empty());
  CHECK(debug_frame(5, false).empty());
}

TEST_CASE("a CIE for another return address register gives no rules", "[unwind]") {
  FrameBytes bytes;
  bytes.begin().u32(0).u8(1).text("zR").uleb(1).sleb(-8).u8(17).uleb(1).u8(0x04).all({0x0c, 7, 8, 0x91, 1}).end();
  CHECK(rules_of(bytes.function(0x4000, 0x40, {}).bytes).empty());
}

TEST_CASE("functions that exceed the address space, or are empty, are ignored", "[unwind]") {
  CHECK(rules_of(FrameBytes().usual_cie().function(UINT64_MAX - 4, 0x40, {}).bytes).empty());
  CHECK(rules_of(FrameBytes().usual_cie().function(0x4000, 0, {}).bytes).empty());
}

TEST_CASE("a damaged section gives the rules before the damage", "[unwind]") {
  const FrameBytes good = FrameBytes().usual_cie().function(0x4000, 0x40, {}).function(0x5000, 0x40, {0x41, 0x0e, 16});
  bool whole = false;
  const Rules all = rules_of(good.bytes, Section::eh_frame, &whole);
  CHECK(whole);
  REQUIRE(all.size() == 5);
  for (size_t size = 0; size < good.bytes.size(); ++size) {
    const std::vector<uint8_t> cut(good.bytes.begin(), good.bytes.begin() + static_cast<ptrdiff_t>(size));
    const Rules found = rules_of(cut, Section::eh_frame, &whole);
    REQUIRE(found.size() <= all.size());
    CHECK(std::equal(found.begin(), found.end(), all.begin()));
    CHECK(found.size() < all.size());
  }
  // FDEs whose CIE reference leads to the FDE itself, before the section, or into the middle of an entry.
  for (const uint32_t distance : {0x1cU, 0x7fffffffU, 7U, 0xffffffffU}) {
    FrameBytes bytes;
    bytes.usual_cie().begin().u32(distance).u64(0x4000).u64(0x40).uleb(0).end();
    rules_of(bytes.bytes, Section::eh_frame, &whole);
  }
}

TEST_CASE("on x86-64 an unsaved return address gives no rule", "[unwind]") {
  FrameBytes bytes;
  bytes.begin().u32(0).u8(1).text("zR").uleb(1).sleb(-8).u8(16).uleb(1).u8(0x04).all({0x0c, 7, 8}).end();
  CHECK(rules_of(bytes.function(0x4000, 0x40, {0x41, 0x90, 1}).bytes) ==
        Rules{{0x4000, kNoRule}, {0x4001, sp_rule(8)}, {0x4040, kNoRule}});
}

TEST_CASE("random changes are read without a crash", "[unwind]") {
  const FrameBytes good = FrameBytes()
                              .usual_cie()
                              .function(0x4000, 0x40, {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x42, 0x0b})
                              .function(0x5000, 0x40, {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
  uint64_t random = 88172645463325252U;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bytes = good.bytes;
    for (int change = 0; change < 3; ++change) {
      random ^= random << 13U;
      random ^= random >> 7U;
      random ^= random << 17U;
      bytes[random % bytes.size()] = static_cast<uint8_t>(random >> 32U);
    }
    const Rules rules = rules_of(bytes);
    const Rules debug = rules_of(bytes, Section::debug_frame);
    CHECK(rules.size() + debug.size() < 1000);
  }
}
