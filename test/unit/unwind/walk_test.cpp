// Walks stacks of this process by rules from memory and compares them with libgcc's unwinder.
#include "walk.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "catch.h"
#include "own_modules.h"
#include "unwind/table.h"

using namespace gpuprof::unwind;

extern "C" void unwind_capture(uint64_t* registers);

namespace {

struct Stack {
  std::vector<uint64_t> pcs;
  Step last = Step::no_rule;
};

bool read_own(uint64_t address, uint64_t* value) {
  std::memcpy(value, reinterpret_cast<const void*>(address), sizeof *value);  // NOLINT(performance-no-int-to-ptr)
  return true;
}

// Returns the stack from `registers`, whose pc is a return address.
Stack walk(Registers registers) {
  Stack stack;
  registers.exact = false;
  for (stack.last = Step::caller; stack.last == Step::caller && stack.pcs.size() < 10'000;) {
    stack.pcs.push_back(registers.pc);
    const uint64_t pc = registers.lookup_pc();
    const uint64_t rule = OwnModule::at(pc).rule_at(pc);
    // Some processors have no call frame information for the code to which a signal handler returns.
    const bool is_signal = rule == GPUPROF_UNWIND_NONE &&
                           gpuprof_is_signal_return(reinterpret_cast<const uint8_t*>(registers.pc)) != 0;  // NOLINT
    stack.last = step(is_signal ? uint64_t{GPUPROF_UNWIND_SIGNAL} : rule, registers, read_own);
  }
  return stack;
}

// Holds the callers of take(), walked by gpuprof's rules and by libgcc's unwinder.
struct Both {
  Stack ours;
  std::vector<uint64_t> libgcc;

  [[gnu::noinline]] void take() {
    uint64_t captured[3];
    unwind_capture(captured);
    ours = walk({captured[0], captured[1], captured[2], false});
    std::vector<void*> pcs(10'000);
    const int count = ::backtrace(pcs.data(), static_cast<int>(pcs.size()));
    for (int i = 1; i < count; ++i) {
      libgcc.push_back(reinterpret_cast<uint64_t>(pcs[static_cast<size_t>(i)]));
    }
    ours.pcs.erase(ours.pcs.begin());
    // Sanitizers add frames between this function and libgcc.
    libgcc.erase(libgcc.begin(), std::find(libgcc.begin(), libgcc.end(), ours.pcs.front()));
  }
};

[[gnu::noinline]] int recurse(int depth, Both& both) {
  volatile char room[200];
  room[depth % 100] = 1;
  if (depth == 0) {
    both.take();
    return room[0];
  }
  return recurse(depth - 1, both) + room[depth % 100];
}

// Uses rbp as a general register, and moves the stack by a size known only at run time.
[[gnu::noinline, gnu::optimize("omit-frame-pointer")]] int with_alloca(int size, Both& both) {
  volatile char* room = static_cast<char*>(__builtin_alloca(static_cast<size_t>(size)));
  room[0] = 1;
  return recurse(3, both) + room[0];
}

// The 64-byte alignment makes gcc realign the stack.
[[gnu::noinline]] int realigned(Both& both) {
  alignas(64) volatile char room[256];
  room[0] = static_cast<char>(with_alloca(1000, both));
  return room[0];
}

Both* in_handler = nullptr;

void handler(int) {
  in_handler->take();
}

void check(const Both& both) {
  CHECK(both.ours.last == Step::end);
  REQUIRE(both.libgcc.size() > 5);
  REQUIRE(both.ours.pcs.size() == both.libgcc.size());
  for (size_t i = 0; i < both.libgcc.size(); ++i) {
    CAPTURE(i, both.libgcc.size());
    // The two walks begin at different addresses in take(), so the frame of take() is not compared.
    CHECK(both.ours.pcs[i] == both.libgcc[i]);
  }
}

}  // namespace

TEST_CASE("a walk finds the same frames as libgcc", "[unwind]") {
  Both both;
  SECTION("recursion") {
    recurse(300, both);
  }
  SECTION("alloca and a realigned stack") {
    realigned(both);
  }
  SECTION("a thread") {
    std::thread([&] { realigned(both); }).join();
  }
  check(both);
}

TEST_CASE("a walk leaves a signal handler that runs on an alternate stack", "[unwind]") {
  Both both;
  std::vector<char> memory(1 << 18);
  stack_t alternate{};
  alternate.ss_sp = memory.data();
  alternate.ss_size = memory.size();
  REQUIRE(::sigaltstack(&alternate, nullptr) == 0);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  in_handler = &both;
  ::pthread_kill(::pthread_self(), SIGUSR1);
  ::sigaction(SIGUSR1, &before, nullptr);
  alternate.ss_flags = SS_DISABLE;
  ::sigaltstack(&alternate, nullptr);
  check(both);
}

TEST_CASE("the vdso has rules", "[unwind]") {
  const uint64_t start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0) {
    WARN("skipped: no vdso");
    return;
  }
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(start), 2 * 4096);  // NOLINT
  const auto table = Table::build(bytes);
  REQUIRE(table);
  const OwnModule module = OwnModule::at(start);
  REQUIRE(module.header != 0);
  size_t compared = 0;
  for (size_t row = 0; row < table->pcs().size(); ++row) {
    const uint64_t pc = table->base() + table->pcs()[row];
    const uint64_t rule = table->rules()[table->rule_indexes()[row]];
    CHECK(module.rule_at(module.bias + pc) == rule);
    compared += rule != GPUPROF_UNWIND_NONE ? 1 : 0;
  }
  CHECK(compared > 5);
}
