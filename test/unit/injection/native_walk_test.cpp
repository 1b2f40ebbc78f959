// Compares the walk with libgcc's unwinder, which reads the same tables independently. Built without frame pointers.
#include "stack/native_walk.h"

#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "catch.h"
#include "child.h"
#include "jit/jit_arch.h"
#include "runtime/module_scan.h"
#include "stack/modules.h"
#include "walked.h"
#include "wire/stack_arch.h"

using gpuprof::test::Compared;
using gpuprof::test::Walked;
using gpuprof::test::WalkScratch;
namespace injection = gpuprof::injection;

namespace {

// A function that is called at the innermost frame of a stack.
using Leaf = std::function<void()>;

#define GPUPROF_KEEP(variable) __asm__ volatile("" ::"r"(variable) : "memory")
#define GPUPROF_KEEP_FRAME __asm__ volatile("" ::: "memory")

__attribute__((noinline)) void plain(int depth, const Leaf& leaf) {
  if (depth <= 0) {
    leaf();
  } else {
    plain(depth - 1, leaf);
  }
  GPUPROF_KEEP_FRAME;
}

__attribute__((noinline)) void with_locals(int depth, const Leaf& leaf) {
  char some[200];
  GPUPROF_KEEP(some);
  if (depth <= 0) {
    leaf();
  } else {
    plain(depth % 3, [&] { with_locals(depth - 1, leaf); });
  }
  GPUPROF_KEEP_FRAME;
}

// This function's frame can be found only through the fp register.
__attribute__((noinline)) void with_alloca(int depth, const Leaf& leaf) {
  void* some = alloca(static_cast<size_t>(depth % 16) * 24 + 8);
  GPUPROF_KEEP(some);
  if (depth <= 0) {
    leaf();
  } else {
    with_alloca(depth - 1, leaf);
  }
  GPUPROF_KEEP_FRAME;
}

// This function realigns the stack.
__attribute__((noinline)) void aligned(int depth, const Leaf& leaf) {
  alignas(64) char some[64];
  GPUPROF_KEEP(some);
  if (depth <= 0) {
    leaf();
  } else {
    with_alloca(1, [&] { aligned(depth - 1, leaf); });
  }
  GPUPROF_KEEP_FRAME;
}

Compared compare_in(const std::function<void(const Leaf&)>& where) {
  injection::scan_modules();
  WalkScratch scratch;
  Compared compared;
  where([&] { gpuprof::test::compare_here(scratch, &compared); });
  return compared;
}

std::string describe(const Compared& compared) {
  std::string text = compared.ours.truncated ? "truncated" : "whole";
  const size_t count = std::max(compared.ours.words.size(), compared.reference.size());
  for (size_t i = 0; i < count && i < 40; ++i) {
    char line[80];
    snprintf(line, sizeof(line), "\n%2zu %16llx %16llx", i,
             i < compared.ours.words.size() ? static_cast<unsigned long long>(compared.ours.words[i]) : 0,
             i < compared.reference.size() ? static_cast<unsigned long long>(compared.reference[i]) : 0);
    text += line;
  }
  return text;
}

#define CHECK_SAME(compared)  \
  do {                        \
    INFO(describe(compared)); \
    CHECK((compared).same()); \
  } while (false)

}  // namespace

TEST_CASE("a walk finds the same frames as libgcc's unwinder") {
  for (int round = 0; round < 3; ++round) {  // starting with the second round, frames are cached
    CHECK_SAME(compare_in([](const Leaf& leaf) { plain(5, leaf); }));
    CHECK_SAME(compare_in([](const Leaf& leaf) { with_locals(7, leaf); }));
    CHECK_SAME(compare_in([](const Leaf& leaf) { with_alloca(9, leaf); }));
    CHECK_SAME(compare_in([](const Leaf& leaf) { aligned(9, leaf); }));
  }
}

TEST_CASE("a walk follows 2000 frames, and marks deeper stacks as truncated") {
  const Compared deep = compare_in([](const Leaf& leaf) { with_alloca(2000, leaf); });
  CHECK(deep.ours.words.size() > 2000);
  CHECK_SAME(deep);
  const Compared deeper = compare_in([](const Leaf& leaf) { plain(5000, leaf); });
  CHECK(deeper.ours.words.size() == GPUPROF_STACK_MAX_WORDS);
  CHECK(deeper.ours.truncated);
  REQUIRE(deeper.reference.size() > deeper.ours.words.size());
  CHECK(std::equal(deeper.ours.words.begin() + 1, deeper.ours.words.end(), deeper.reference.begin() + 1));
}

TEST_CASE(
    "each frame ends below its caller's end, and just above its return address unless a rule says where that is") {
  injection::scan_modules();
  WalkScratch scratch;
  int wrong = -1;
  with_alloca(20, [&] {
    Walked ours;
    gpuprof::test::walk_here(scratch, &ours);
    wrong = ours.sp < ours.ends[0] ? 0 : 1;
    for (size_t i = 0; i + 2 < ours.ends.size(); ++i) {
      uint64_t return_address = 0;
      memcpy(&return_address, reinterpret_cast<const void*>(ours.ends[i] - sizeof(uint64_t)), sizeof(return_address));
      wrong +=
          ours.ends[i] < ours.ends[i + 1] && (GPUPROF_HAS_LINK_REGISTER || return_address == ours.words[i + 1]) ? 0 : 1;
    }
  });
  CHECK(wrong == 0);
}

namespace {

// Makes random calls and walks at all depths, so that a walk shares many or few frames with the previous walk.
struct RandomCalls {
  WalkScratch scratch;
  Compared compared;
  uint32_t state = 1;
  int leaves = 0;
  int wrong = 0;
  std::string first_wrong;

  uint32_t next() {
    state = state * 1664525 + 1013904223;
    return state >> 16U;
  }

  void look() {
    gpuprof::test::compare_here(scratch, &compared);
    ++leaves;
    if (!compared.same() && wrong++ == 0) {
      first_wrong = describe(compared);
    }
  }

  void call(int depth) {
    const uint32_t calls = 1 + next() % 2;
    for (uint32_t i = 0; i < calls; ++i) {
      const Leaf deeper = [this, depth] { depth == 0 ? look() : call(depth - 1); };
      const int more = static_cast<int>(next() % 3);
      switch (next() % 5) {
        case 0:
          plain(more, deeper);
          break;
        case 1:
          with_alloca(more, deeper);
          break;
        case 2:
          with_locals(more, deeper);
          break;
        case 3:
          aligned(more, deeper);
          break;
        default:
          look();
      }
    }
  }
};

}  // namespace

TEST_CASE("a walk that shares frames with the last one finds the same frames as libgcc") {
  injection::scan_modules();
  RandomCalls calls;
  for (int round = 0; round < 100; ++round) {
    calls.call(round % 12);
  }
  INFO(calls.first_wrong);
  CHECK(calls.leaves > 500);
  CHECK(calls.wrong == 0);
}

// ---- signal handlers -----------------------------------------------------------------------------------------

namespace {

WalkScratch* handler_scratch = nullptr;
Compared* handler_compared = nullptr;

void on_signal(int /*signal*/) {
  gpuprof::test::compare_here(*handler_scratch, handler_compared);
}

// Raises `signal` at the innermost frame of a stack and walks in the handler.
Compared compare_in_handler(int signal, int flags, const std::function<void()>& raise_it) {
  injection::scan_modules();
  WalkScratch scratch;
  Compared compared;
  handler_scratch = &scratch;
  handler_compared = &compared;
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  sigaction(signal, &action, &before);
  raise_it();
  sigaction(signal, &before, nullptr);
  return compared;
}

bool has_exact(const Walked& walked) {
  return std::any_of(walked.words.begin(), walked.words.end(),
                     [](uint64_t word) { return (word & GPUPROF_WORD_EXACT) != 0; });
}

class AlternateStack {
 public:
  AlternateStack() : memory_(kBytes) {
    stack_t stack = {};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, &before_);
  }
  ~AlternateStack() { sigaltstack(&before_, nullptr); }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  static constexpr size_t kBytes = 512 << 10;
  std::vector<char> memory_;
  stack_t before_ = {};
};

// Raises a signal at the first instruction of a function, before any push.
}  // namespace

TEST_CASE("a walk passes through a signal handler") {
  for (const int flags : {0, SA_ONSTACK}) {
    const AlternateStack alternate;
    const Compared raised =
        compare_in_handler(SIGUSR1, flags, [] { with_alloca(5, [] { static_cast<void>(raise(SIGUSR1)); }); });
    CHECK_SAME(raised);
    CHECK(raised.ours.in_signal);
    CHECK(has_exact(raised.ours));
    const Compared trapped =
        compare_in_handler(SIGTRAP, flags, [] { with_locals(5, [] { gpuprof_test_trap(getpid(), gettid()); }); });
    CHECK_SAME(trapped);
    CHECK(trapped.ours.in_signal);
  }
}

// ---- other stacks ---------------------------------------------------------------------------------------------

namespace {

const Leaf* coroutine_leaf = nullptr;
ucontext_t coroutine_caller;

void coroutine() {
  with_alloca(30, *coroutine_leaf);
  GPUPROF_KEEP_FRAME;
}

void on_coroutine(const Leaf& leaf) {
  constexpr size_t kBytes = 256 << 10;
  static char* stack =
      static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kBytes;
  context.uc_link = &coroutine_caller;
  coroutine_leaf = &leaf;
  makecontext(&context, coroutine, 0);
  swapcontext(&coroutine_caller, &context);
}

}  // namespace

TEST_CASE("a walk on a coroutine's stack reaches its beginning") {
  for (int round = 0; round < 2; ++round) {
    const Compared compared = compare_in([](const Leaf& leaf) { plain(3, [&] { on_coroutine(leaf); }); });
    CHECK(compared.ours.words.size() > 30);
    CHECK_SAME(compared);
  }
}

TEST_CASE("a walk in a forked child finds the same frames as in the parent") {
  injection::scan_modules();
  const pid_t pid = gpuprof::test::fork_child({}, [] {
    const Compared compared = compare_in([](const Leaf& leaf) { with_alloca(9, leaf); });
    if (!compared.same()) {
      fputs(describe(compared).c_str(), stderr);
    }
    return compared.same() ? 0 : 1;
  });
  CHECK(gpuprof::test::wait_for(pid) == 0);
}

TEST_CASE("threads that start and end have complete stacks") {
  injection::scan_modules();
  std::atomic<int> wrong{0};
  constexpr int kRounds = 25;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&wrong, i] {
        WalkScratch scratch;
        Compared compared;
        for (int n = 0; n < 20; ++n) {
          with_alloca(i * 5 + n, [&] { gpuprof::test::compare_here(scratch, &compared); });
          wrong += compared.same() ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  CHECK(wrong == 0);
}

namespace {

void* walk_on_given_stack(void* ok) {
  WalkScratch scratch;
  Compared compared;
  with_alloca(9, [&] { gpuprof::test::compare_here(scratch, &compared); });
  *static_cast<bool*>(ok) = compared.same();
  return nullptr;
}

}  // namespace

TEST_CASE("a thread on a stack provided by the program is walked") {
  injection::scan_modules();
  std::vector<char> memory(1 << 20);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory.data(), memory.size());
  pthread_t thread = {};
  bool ok = false;
  REQUIRE(pthread_create(&thread, &attributes, walk_on_given_stack, &ok) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  CHECK(ok);
}

// ---- walks that keep frames of earlier walks ------------------------------------------------------------------------

namespace {

// Calls `leaf` from one of two places, with the same stack pointer. Different code around the calls keeps the compiler
// from making them one call.
__attribute__((noinline)) void from_two_places(int which, const Leaf& leaf) {
  if (which == 0) {
    asm volatile("# before the first place" ::: "memory");
    plain(3, leaf);
    asm volatile("# behind the first place" ::: "memory");
  } else {
    asm volatile("# before the second place" ::: "memory");
    plain(3, leaf);
    asm volatile("# behind the second place" ::: "memory");
  }
  GPUPROF_KEEP_FRAME;
}

// Jumps out of the deepest call, over frames that never return.
void jump_out(int depth, const Leaf& leaf) {
  static jmp_buf back;
  if (setjmp(back) == 0) {
    with_alloca(depth, [&] {
      leaf();
      longjmp(back, 1);
    });
  }
}

}  // namespace

TEST_CASE("a walk is right after walks on changed stacks with the same memory") {
  injection::scan_modules();
  WalkScratch scratch;
  Compared compared;
  int wrong = 0;
  std::string first_wrong;
  const Leaf look = [&] {
    gpuprof::test::compare_here(scratch, &compared);
    if (!compared.same() && wrong++ == 0) {
      first_wrong = describe(compared);
    }
  };
  uint32_t state = 1;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    state = state * 1664525 + 1013904223;
    const int depth = static_cast<int>(state >> 16U) % 7;
    const int which = static_cast<int>(state >> 20U) % 2;
    switch (state >> 24U & 7U) {
      case 0:
        from_two_places(which, look);
        break;
      case 1:
        plain(depth, [&] { from_two_places(which, [&] { with_alloca(2, look); }); });
        break;
      case 2:
        on_coroutine(look);
        break;
      case 3:
        plain(depth, [&] { on_coroutine([&] { from_two_places(which, look); }); });
        break;
      case 4:
        jump_out(depth, look);
        break;
      case 5:
        jump_out(depth, [&] { from_two_places(which, look); });
        break;
      case 6:
        aligned(depth, [&] { from_two_places(which, look); });
        break;
      default:
        with_locals(depth * 40, look);
    }
  }
  INFO(first_wrong);
  CHECK(wrong == 0);
}

TEST_CASE("a walk keeps the frames outside of the first change") {
  injection::scan_modules();
  WalkScratch scratch;
  Walked walked;
  uint32_t kept[6] = {};  // the first walk finds rules, so the second keeps only few of its frames
  for (int round = 0; round < 6; ++round) {
    plain(20, [&] {
      from_two_places(round / 3, [&] {
        gpuprof::test::walk_here(scratch, &walked);
        kept[round] = walked.common;
      });
    });
  }
  CHECK(kept[0] == 0);
  CHECK(kept[2] > 20 + 3);  // nothing has changed but the innermost frames
  CHECK(kept[3] >= 20);
#ifndef __SANITIZE_ADDRESS__  // it changes the innermost frames, which include those of from_two_places()
  CHECK(kept[3] < kept[2]);   // the walk has returned to another place in from_two_places()
#endif
  CHECK(kept[5] == kept[2]);
}

// ---- code without tables ----------------------------------------------------------------------------------------

namespace {

using JitCode = void (*)(void (*)(void*), void*, uint64_t fp);

JitCode make_code(bool garbage) {
  using namespace gpuprof::test;
  constexpr size_t kBytes = 4096;
  auto* code = static_cast<uint8_t*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  uint8_t* at = std::copy(std::begin(kJitPrologue), std::end(kJitPrologue), code + 64);
  if (garbage) {
    at = std::copy(std::begin(kJitGarbage), std::end(kJitGarbage), at);
  }
  at = std::copy(std::begin(kJitCall), std::end(kJitCall), at);
  __builtin___clear_cache(reinterpret_cast<char*>(code), reinterpret_cast<char*>(at));
  return reinterpret_cast<JitCode>(code + 64);
}

struct JitWalk {
  WalkScratch scratch;
  Walked inside;
};

void walk_inside(void* data) {
  auto* walk = static_cast<JitWalk*>(data);
  gpuprof::test::walk_here(walk->scratch, &walk->inside);
  GPUPROF_KEEP_FRAME;
}

// Has a frame pointer: on some processors, that of a function without a table does not give its caller's stack pointer.
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void call_code(JitCode code, JitWalk* walk,
                                                                            std::vector<uint64_t>* outside) {
  code(walk_inside, walk, 0);
  gpuprof::test::reference_here(outside);
}

}  // namespace

TEST_CASE("frames of code without tables are found by frame pointers") {
  const JitCode code = make_code(false);
  for (int round = 0; round < 3; ++round) {
    JitWalk walk;
    std::vector<uint64_t> outside;
    outside.reserve(GPUPROF_STACK_MAX_WORDS);
    plain(5, [&] { call_code(code, &walk, &outside); });
    INFO(round);
    CHECK_FALSE(walk.inside.truncated);
    REQUIRE(walk.inside.words.size() == outside.size() + 2);
    CHECK(walk.inside.words[1] - reinterpret_cast<uint64_t>(code) < 64);
    CHECK(std::equal(outside.begin() + 1, outside.end(), walk.inside.words.begin() + 3));
  }
}

TEST_CASE("an invalid frame pointer ends only the walk") {
  const JitCode code = make_code(true);
  // `self` and kLastWord are valid user-space addresses, but not of a frame. kLastWord is the last word of the stack if
  // addresses are not randomized, as with ThreadSanitizer. The environment just below it could look like a frame.
  constexpr uint64_t kLastWord = 0x7fffffffeff8;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  std::vector<uint64_t> self(2);
  self[0] = reinterpret_cast<uint64_t>(self.data());
  const uint64_t zeros[4] = {};  // lies on this stack, as a caller's frame would
  GPUPROF_KEEP(zeros);
  for (const uint64_t fp :
       {uint64_t{0}, reinterpret_cast<uint64_t>(zeros), uint64_t{1}, uint64_t{8}, uint64_t{0xdeadbeef}, ~uint64_t{0},
        ~uint64_t{7}, here - (1 << 19), here + (1 << 30), here | 1, self[0], uint64_t{1} << 47, kLastWord}) {
    JitWalk walk;
    // `code` may destroy the frame pointer: its epilogue restores the caller's frame pointer from the stack.
    plain(5, [&] { code(walk_inside, &walk, fp); });
    INFO(fp);
    CHECK(walk.inside.truncated);
    REQUIRE(walk.inside.words.size() == 2);
    CHECK(walk.inside.words[1] - reinterpret_cast<uint64_t>(code) < 64);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

// The mapping consists of a guard page, memory that is unmapped while the thread runs, and the thread's stack.
constexpr size_t kArenaStack = 1 << 20;
constexpr size_t kArenaLow = 1 << 20;
constexpr size_t kArenaGuard = 4096;

void* walk_above_a_hole(void* arena) {
  static JitWalk walk;
  auto* low = static_cast<char*>(arena) + kArenaGuard;
  walk_inside(&walk);  // this first walk finds the bounds of the stack
  const bool whole = !walk.inside.truncated;
  munmap(low, kArenaLow);
  gpuprof_test_lying_table(walk_inside, &walk, reinterpret_cast<uint64_t>(low) + kArenaLow / 2);
  return whole && walk.inside.truncated ? arena : nullptr;
}

int run_above_a_hole() {
  injection::scan_modules();
  const size_t bytes = kArenaGuard + kArenaLow + kArenaStack;
  void* arena = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(arena, kArenaGuard, PROT_NONE);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, static_cast<char*>(arena) + kArenaGuard + kArenaLow, kArenaStack);
  pthread_t thread = {};
  void* result = nullptr;
  if (pthread_create(&thread, &attributes, walk_above_a_hole, arena) != 0) {
    return 1;
  }
  pthread_join(thread, &result);
  return result == arena ? 0 : 2;
}

}  // namespace

TEST_CASE("a walk survives unmapped memory below the frames of a stack") {
  CHECK(gpuprof::test::wait_for(gpuprof::test::fork_child({}, run_above_a_hole)) == 0);
}
#endif

// ---- libraries that come and go -----------------------------------------------------------------------------------

namespace {

using CallBack = void (*)(void (*)(void*), void*);

void compare_for_library(void* data) {
  static WalkScratch scratch;
  gpuprof::test::compare_here(scratch, static_cast<Compared*>(data));
}

}  // namespace

TEST_CASE("a library that replaces another at the same address is unwound by its own tables") {
  injection::scan_modules();
  uint64_t places[2] = {};
  int same_place = 0;
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    for (const int which : {0, 1}) {
      void* library = dlopen(which == 0 ? GPUPROF_TEST_FRAMES_SMALL : GPUPROF_TEST_FRAMES_LARGE, RTLD_NOW | RTLD_LOCAL);
      REQUIRE(library != nullptr);
      const auto function = reinterpret_cast<CallBack>(dlsym(library, "gpuprof_test_call_back"));
      REQUIRE(function != nullptr);
      places[which] = reinterpret_cast<uint64_t>(function);
      Compared compared;
      plain(2, [&] { function(compare_for_library, &compared); });
      CHECK_SAME(compared);
      dlclose(library);
    }
    same_place += places[0] == places[1] ? 1 : 0;
  }
  CHECK(same_place > 0);  // otherwise no address was reused, and the test proves nothing
}

TEST_CASE("the number of loads changes with each library that is loaded or unloaded") {
  injection::scan_modules();
  const uint64_t before = injection::loads_so_far();
  CHECK(before == injection::loads_so_far());
  void* library = dlopen(GPUPROF_TEST_FRAMES_SMALL, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const uint64_t loaded = injection::loads_so_far();
  dlclose(library);
  const uint64_t unloaded = injection::loads_so_far();
  if (before == 0) {
    WARN("this C library does not count loaded libraries");
    return;
  }
  CHECK(loaded != before);
  CHECK(unloaded != loaded);
  CHECK(unloaded != before);
  injection::scan_modules();
  CHECK(injection::loads_so_far() == unloaded);
}

TEST_CASE("without the loader's help, modules are known from the last scan") {
  const pid_t pid = gpuprof::test::fork_child({}, [] {
    injection::use_module_list();
    int wrong = 0;
    for (int round = 0; round < 10; ++round) {
      wrong += compare_in([](const Leaf& leaf) { with_alloca(9, leaf); }).same() ? 0 : 1;
      for (const char* path : {GPUPROF_TEST_FRAMES_SMALL, GPUPROF_TEST_FRAMES_LARGE}) {
        void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const auto function = reinterpret_cast<CallBack>(dlsym(library, "gpuprof_test_call_back"));
        injection::scan_modules();
        Compared compared;
        function(compare_for_library, &compared);
        wrong += compared.same() ? 0 : 1;
        dlclose(library);
      }
    }
    return wrong;
  });
  CHECK(gpuprof::test::wait_for(pid) == 0);
}

TEST_CASE("a launch in a library's constructor does not wait for the loader") {
  injection::scan_modules();
  Compared compared;
  char pointers[64];
  snprintf(pointers, sizeof(pointers), "%p %p", reinterpret_cast<void*>(compare_for_library),
           static_cast<void*>(&compared));
  setenv("GPUPROF_TEST_CONSTRUCTOR", pointers, 1);
  void* library = dlopen(GPUPROF_TEST_FRAMES_SMALL, RTLD_NOW | RTLD_LOCAL);
  unsetenv("GPUPROF_TEST_CONSTRUCTOR");
  REQUIRE(library != nullptr);
  dlclose(library);
  CHECK_SAME(compared);
}
