
#include "record/write/stack_frames.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "catch.h"
#include "wire/stack.h"

using gpuprof::profile::FrameKind;
using gpuprof::record::NewCode;
using gpuprof::record::NewStack;
using gpuprof::record::ProfilerLibraries;
using gpuprof::record::StackFrames;
using gpuprof::symbolize::SymbolizedFrame;

// This function plays the role of CPython's code, as in a program with CPython linked in.
extern "C" __attribute__((noinline)) void PyRun_of_this_test() {
  asm volatile("nop; nop; nop; nop; nop; nop");
}

namespace {

__attribute__((noinline)) void leaf() {
  asm volatile("nop; nop; nop; nop");
}
__attribute__((noinline)) void evaluation_loop() {
  asm volatile("nop; nop; nop; nop; nop");
}

constexpr uint64_t kNowhere = 0x10;

uint64_t in(void (*function)()) {
  return reinterpret_cast<uint64_t>(function) + 1;
}
uint64_t in_libc() {
  return reinterpret_cast<uint64_t>(&::strdup) + 1;
}

NewStack stack_of(std::vector<uint64_t> words, uint32_t flags = 0) {
  auto maps = std::make_shared<gpuprof::symbolize::ProcessMaps>(static_cast<uint32_t>(::getpid()),
                                                                gpuprof::symbolize::make_file_cache());
  REQUIRE(maps->refresh());
  NewStack stack;
  stack.maps = std::move(maps);
  stack.words = std::move(words);
  stack.flags = flags;
  stack.maps_current = true;
  return stack;
}

NewCode python_code_of(uint32_t index, const char* name, uint32_t first_line) {
  NewCode code;
  code.index = index;
  code.version = 0x030c0000;
  code.name = name;
  code.file = "a.py";
  code.first_line = first_line;
  return code;
}

struct Named {
  explicit Named(const NewStack& stack, ProfilerLibraries profiler_libraries = {})
      : frames_of(std::move(profiler_libraries)) {
    frames_of.add(python_code_of(1, "inner", 10));
    frames_of.add(python_code_of(2, "outer", 20));
    frames_of.of(stack, frames);
  }
  [[nodiscard]] std::string kinds() const {
    std::string text;
    for (const SymbolizedFrame& frame : frames) {
      text += "ninkpIut"[frame.kind == FrameKind::native        ? 0
                         : frame.kind == FrameKind::inlined     ? 1
                         : frame.kind == FrameKind::kernel      ? 3
                         : frame.kind == FrameKind::python      ? 4
                         : frame.kind == FrameKind::interpreter ? 5
                         : frame.kind == FrameKind::unknown     ? 6
                                                                : 7];
    }
    return text;
  }
  StackFrames frames_of;
  std::vector<SymbolizedFrame> frames;
};

}  // namespace

TEST_CASE("Python frames are placed between native frames, and interpreter frames are marked") {
  const Named named(stack_of({in_libc(), GPUPROF_WORD_OF_PYTHON(1u, UINT32_MAX), GPUPROF_WORD_OF_PYTHON(2u, UINT32_MAX),
                              in(evaluation_loop) | GPUPROF_WORD_EVAL, in_libc(), in(PyRun_of_this_test), in(leaf)}));
  REQUIRE(named.kinds() == "nInIppn");
  CHECK(named.frames[0].name.find("leaf") != std::string::npos);
  CHECK(named.frames[1].name == "PyRun_of_this_test");
  CHECK(named.frames[3].name.find("evaluation_loop") != std::string::npos);
  CHECK(named.frames[4].name == "outer");
  CHECK(named.frames[4].file == "a.py");
  CHECK(named.frames[4].line == 20);
  CHECK(named.frames[5].name == "inner");
}

TEST_CASE("a stack without Python frames has no interpreter frames") {
  const Named named(stack_of({in_libc(), in(evaluation_loop) | GPUPROF_WORD_EVAL}));
  CHECK(named.kinds() == "nn");
}

TEST_CASE("the interpreter is recognized by its layout if no activation was found") {
  NewStack stack = stack_of({in_libc(), GPUPROF_WORD_OF_PYTHON(1u, 0u), in(PyRun_of_this_test)});
  CHECK(Named(stack).kinds() == "npn");
  stack.eval_begin = in(evaluation_loop);
  CHECK(Named(stack).kinds() == "Ipn");
}

TEST_CASE("an unknown code object is a Python frame without a name") {
  const Named named(stack_of({GPUPROF_WORD_OF_PYTHON(9u, 0u), in_libc()}));
  REQUIRE(named.kinds() == "np");
  CHECK(named.frames[1].name.empty());
  CHECK(named.frames[1].line == 0);
}

TEST_CASE("the outermost marker frames say which frames are missing") {
  CHECK(Named(stack_of({in_libc(), in(leaf)})).kinds() == "nn");
  const Named cut(stack_of({in_libc(), in(leaf)}, GPUPROF_STACK_TRUNCATED));
  REQUIRE(cut.kinds() == "tnn");
  const Named both(stack_of({in_libc(), in(leaf)}, GPUPROF_STACK_TRUNCATED | GPUPROF_STACK_NO_PYTHON));
  REQUIRE(both.kinds() == "utnn");
  CHECK(both.frames[0].name == "[no Python frames]");
}

TEST_CASE("a table walk is trusted through unloaded or generated code") {
  CHECK(Named(stack_of({in_libc(), kNowhere, in(leaf)})).kinds() == "nun");
  void* jit = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(jit != MAP_FAILED);
  CHECK(Named(stack_of({in_libc(), reinterpret_cast<uint64_t>(jit) + 8, in(leaf)})).kinds() == "nun");
  ::munmap(jit, 4096);
  // If the stack is marked as truncated, unknown addresses at its outer end are dropped.
  CHECK(Named(stack_of({in_libc(), in(leaf), kNowhere}, GPUPROF_STACK_TRUNCATED)).kinds() == "tnn");
}

TEST_CASE("a frame-pointer walk ends at the first address that is not code") {
  NewStack stack = stack_of({in_libc(), in(leaf), kNowhere, in(leaf)});
  stack.frame_pointers = true;
  CHECK(Named(stack).kinds() == "tnn");
  stack.maps_current = false;  // unknown addresses may be code that was mapped later
  CHECK(Named(stack).kinds() == "tnunn");
}

TEST_CASE("profiler frames are removed: the innermost, and hooks between the program and the vendor's library") {
  const NewStack stack = stack_of({in(leaf), in(evaluation_loop), in_libc(), in(leaf), in_libc()});
  CHECK(Named(stack, ProfilerLibraries({program_invocation_short_name})).kinds() == "nn");
  CHECK(Named(stack_of({in(leaf)}), ProfilerLibraries({program_invocation_short_name})).kinds().empty());
}

TEST_CASE("a stack in gpuprof's signal handler ends with the interrupted function") {
  const ProfilerLibraries own({program_invocation_short_name});
  const uint64_t interrupted = in_libc() | GPUPROF_WORD_EXACT;
  const NewStack inside = stack_of({in_libc(), in(leaf), in_libc(), interrupted, in_libc()});
  CHECK(StackFrames(own).in_own_handler(inside));
  CHECK(Named(inside, own).kinds() == "nn");
  const uint64_t python = GPUPROF_WORD_OF_PYTHON(1u, 0u);
  CHECK(Named(stack_of({in_libc(), in(leaf), in_libc(), python, interrupted, in_libc()}), own).kinds() == "nnp");
  const NewStack others = stack_of({in_libc(), in_libc(), interrupted, in_libc()});
  CHECK(!StackFrames(own).in_own_handler(others));
  CHECK(Named(others, own).kinds() == "nnnn");
}

TEST_CASE("code objects are forgotten with their process") {
  Named named(stack_of({GPUPROF_WORD_OF_PYTHON(1u, 0u), in_libc()}));
  named.frames_of.forget({});
  named.frames.clear();
  named.frames_of.of(stack_of({GPUPROF_WORD_OF_PYTHON(1u, 0u), in_libc()}), named.frames);
  REQUIRE(named.kinds() == "np");
  CHECK(named.frames[1].name.empty());
}

TEST_CASE("frames are named by the file mapped when the stack was walked") {
  NewStack stack = stack_of({in(leaf), in_libc()});
  const auto* here = stack.maps->find(in(leaf));
  const auto* libc = stack.maps->find(in_libc());
  REQUIRE((here != nullptr && libc != nullptr));
  auto gone = std::make_shared<gpuprof::symbolize::Mapping>(*libc);
  gone->name = "/opt/libgone.so";
  gone->file = std::make_shared<gpuprof::symbolize::MappedFile>();
  stack.over = {gone};
  const Named by_address(stack);
  REQUIRE(by_address.frames.size() == 2);
  CHECK(by_address.frames[0].name.starts_with("[libgone.so+0x"));
  CHECK(by_address.frames[0].module == "/opt/libgone.so");
  CHECK(by_address.frames[1].name.find("leaf") != std::string::npos);

  // Maps this program's code at the address of libc.
  auto moved = std::make_shared<gpuprof::symbolize::Mapping>(*here);
  moved->start = libc->start;
  moved->end = libc->start + (here->end - here->start);
  stack.over = {moved};
  stack.words = {libc->start + (in(leaf)-here->start), libc->start + (in(leaf)-here->start)};
  const Named by_name(stack);
  REQUIRE(by_name.frames.size() == 2);
  CHECK(by_name.frames[0].name.find("leaf") != std::string::npos);
  CHECK(by_name.frames[1].name.find("leaf") != std::string::npos);
}
