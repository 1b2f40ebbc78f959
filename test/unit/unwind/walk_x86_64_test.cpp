#include "catch.h"
#include "walk_steps.h"

using namespace gpuprof::unwind;

TEST_CASE("a step follows each kind of rule", "[unwind]") {
  FakeStack stack;
  Registers registers{0x400, 0x1010, 0x1040, true};
  CHECK(registers.lookup_pc() == 0x400);

  SECTION("CFA from the stack pointer") {
    REQUIRE(step(rule_with(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_SAME, 24, 0), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1028);
    CHECK(registers.pc == 0x5004);
    CHECK(registers.fp == 0x1040);
    CHECK(registers.lookup_pc() == 0x5003);
  }
  SECTION("CFA from the frame pointer") {
    REQUIRE(step(rule_with(GPUPROF_UNWIND_FP, GPUPROF_UNWIND_FP_AT_CFA, 16, -16), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1050);
    CHECK(registers.pc == 0x5009);
    CHECK(registers.fp == 0x5008);
  }
  SECTION("realigned stack") {
    stack.words[7] = 0x1100;
    REQUIRE(step(rule_with(GPUPROF_UNWIND_DEREF_FP, GPUPROF_UNWIND_FP_AT_FP, -8, 0), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1100);
    CHECK(registers.pc == 0x501f);
    CHECK(registers.fp == 0x5008);
  }
  SECTION("CFA from a saved stack pointer") {
    stack.words[3] = 0x1100;
    REQUIRE(step(rule_with(GPUPROF_UNWIND_DEREF_SP, GPUPROF_UNWIND_FP_SAME, 8, 0), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1100);
  }
  SECTION("PLT entry") {
    REQUIRE(step(rule_with(GPUPROF_UNWIND_PLT, GPUPROF_UNWIND_FP_SAME, 0, 0), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1018);
    registers = {0x40b, 0x1010, 0x1040, true};
    REQUIRE(step(rule_with(GPUPROF_UNWIND_PLT, GPUPROF_UNWIND_FP_SAME, 0, 0), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1020);
  }
  SECTION("signal frame") {
    REQUIRE(step(rule_with(GPUPROF_UNWIND_SIGNAL, GPUPROF_UNWIND_FP_SAME, 0, 0), registers, stack) == Step::caller);
    CHECK(registers.pc == 0x5000 + 2 + 21);
    CHECK(registers.sp == 0x5000 + 2 + 20);
    CHECK(registers.fp == 0x5000 + 2 + 15);
    CHECK(registers.exact);
  }
  SECTION("steps that cannot continue") {
    CHECK(step(rule_with(GPUPROF_UNWIND_END, GPUPROF_UNWIND_FP_SAME, 0, 0), registers, stack) == Step::end);
    CHECK(step(GPUPROF_UNWIND_NONE, registers, stack) == Step::no_rule);
    CHECK(step(rule_with(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_SAME, 0, 0), registers, stack) == Step::stuck);
    registers = {0x400, 0x1010, 0x1040, true};
    CHECK(step(rule_with(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_SAME, 0x1000, 0), registers, stack) == Step::unreadable);
    CHECK(step(rule_with(GPUPROF_UNWIND_DEREF_SP, GPUPROF_UNWIND_FP_SAME, 0x1000, 0), registers, stack) ==
          Step::unreadable);
    CHECK(step(rule_with(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_AT_CFA, 16, 0x1000), registers, stack) ==
          Step::unreadable);
  }
}
