#include "catch.h"
#include "walk_steps.h"

using namespace gpuprof::unwind;

TEST_CASE("a step follows each kind of rule", "[unwind]") {
  FakeStack stack;
  Registers registers{0x400, 0x1010, 0x1040, true, 0x7000};
  CHECK(registers.lookup_pc() == 0x400);

  SECTION("a leaf function without a stack frame") {
    REQUIRE(step(GPUPROF_RULE_AT_ENTRY, registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1010);
    CHECK(registers.pc == 0x7000);
    CHECK(registers.fp == 0x1040);
    CHECK(registers.lookup_pc() == 0x6fff);
    CHECK(step(GPUPROF_RULE_AT_ENTRY, registers, stack) == Step::unreadable);  // the link register is unknown
  }
  SECTION("a leaf function that saves the frame pointer") {
    REQUIRE(step(rule_with(GPUPROF_UNWIND_SP | GPUPROF_UNWIND_IN_LINK, GPUPROF_UNWIND_FP_AT_CFA, 16, -16), registers,
                 stack) == Step::caller);
    CHECK(registers.sp == 0x1020);
    CHECK(registers.pc == 0x7000);
    CHECK(registers.fp == 0x5002);
  }
  SECTION("CFA from the stack pointer") {
    REQUIRE(step(rule_with(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_AT_CFA, 32, -32), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1030);
    CHECK(registers.pc == 0x5003);
    CHECK(registers.fp == 0x5002);
  }
  SECTION("CFA from the frame pointer") {
    REQUIRE(step(rule_with(GPUPROF_UNWIND_FP, GPUPROF_UNWIND_FP_AT_CFA, 32, -16), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1060);
    CHECK(registers.pc == 0x500b);
    CHECK(registers.fp == 0x500a);
  }
  SECTION("only the return address is saved, and signed") {
    stack.words[2] = 0x002f'0000'0000'5002;
    REQUIRE(step(rule_with(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_NOT_SAVED, 32, -32), registers, stack) == Step::caller);
    CHECK(registers.sp == 0x1030);
    CHECK(registers.pc == 0x5002);
    CHECK(registers.fp == 0x1040);
  }
  SECTION("signal frame") {
    registers.sp = 0x1000;
    stack.words.resize(80);
    stack.words[(128 + 176 + 8 + 29 * 8) / 8] = 1;  // x29 in sigcontext.regs, which follows fault_address
    stack.words[(128 + 176 + 8 + 30 * 8) / 8] = 2;  // x30
    stack.words[(128 + 176 + 8 + 31 * 8) / 8] = 3;  // sp
    stack.words[(128 + 176 + 8 + 32 * 8) / 8] = 4;  // pc
    REQUIRE(step(rule_with(GPUPROF_UNWIND_SIGNAL, GPUPROF_UNWIND_FP_SAME, 0, 0), registers, stack) == Step::caller);
    CHECK(registers.fp == 1);
    CHECK(registers.link == 2);
    CHECK(registers.sp == 3);
    CHECK(registers.pc == 4);
    CHECK(registers.exact);
  }
  SECTION("steps that cannot continue") {
    CHECK(step(rule_with(GPUPROF_UNWIND_END, GPUPROF_UNWIND_FP_SAME, 0, 0), registers, stack) == Step::end);
    CHECK(step(GPUPROF_UNWIND_NONE, registers, stack) == Step::no_rule);
    CHECK(step(rule_with(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_AT_CFA, 0, 0), registers, stack) == Step::stuck);
    registers = {0x400, 0x1010, 0x1040, true, 0x7000};
    CHECK(step(rule_with(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_AT_CFA, 0x1000, -16), registers, stack) ==
          Step::unreadable);
  }
}
