// The BPF walk by tables on this kernel: stacks of this very program, held against backtrace(). Compiled without frame
// pointers.

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "catch.h"
#include "record/stack_engine.h"
#include "symbolize/process_maps.h"

extern "C" void gpuprof_launch_probe(uint64_t correlation, uint32_t source, uint32_t range, const void* python);

namespace {

using gpuprof::record::BpfWalk;
using gpuprof::record::LaunchStack;
using gpuprof::record::StackEngine;

struct Stack {
  std::vector<uint64_t> words;
  uint32_t flags = 0;
};

struct Code {
  std::string name;
  std::string file;
  uint32_t first_line = 0;
  size_t line_table_bytes = 0;
};

struct Sink final : gpuprof::record::StackSink {
  void on_stack(uint64_t stack, uint32_t, std::span<const uint64_t> words, uint32_t flags) override {
    stacks[stack] = {{words.begin(), words.end()}, flags};
  }
  void on_code(uint32_t, const gpuprof::backend::PythonCode& code) override {
    codes[code.id] = {std::string(code.name), std::string(code.file), code.first_line, code.line_table.size()};
  }
  void on_thread(uint32_t, uint32_t, std::string_view name) override { threads.emplace_back(name); }
  void on_loader(uint32_t pid) override { loaders.push_back(pid); }
  void on_launch_stack(const LaunchStack& launch) override { launches[launch.correlation] = launch.stack; }
  void on_counted_launch(uint32_t, const LaunchStack&) override {}
  [[nodiscard]] const Stack& stack_of(uint64_t correlation) const { return stacks.at(launches.at(correlation)); }

  std::map<uint64_t, Stack> stacks;
  std::map<uint32_t, Code> codes;
  std::vector<std::string> threads;  // names, as they came
  std::map<uint64_t, uint64_t> launches;
  std::vector<uint32_t> loaders;  // processes
};

// What backtrace() says at each launch, from the caller of launch() on.
constexpr int kMaxDepth = 8192;
std::map<uint64_t, std::vector<uint64_t>> expected;  // by correlation id
uint64_t last_correlation = 0;
const void* python_thread = nullptr;

__attribute__((noinline)) void launch() {
  static void* addresses[kMaxDepth];
  const int count = backtrace(addresses, kMaxDepth);
  std::vector<uint64_t>& stack = expected[++last_correlation];
  for (int i = 1; i < count; ++i) {
    stack.push_back(reinterpret_cast<uint64_t>(addresses[i]));
  }
  gpuprof_launch_probe(last_correlation, 1, 0, python_thread);
  asm volatile("");
}

// Frames of many sizes and kinds, by the bits of `shape`.
__attribute__((noinline)) int descend(int depth, unsigned shape, void (*then)()) {
  volatile char frame[24];
  frame[0] = static_cast<char>(depth);
  if (depth <= 0) {
    then();
    return frame[0];
  }
  const unsigned next = shape * 1103515245U + 12345U;
  if ((shape & 0x10000U) != 0) {
    auto* more = static_cast<volatile char*>(__builtin_alloca(16 + (shape & 0xF8U)));
    more[0] = 1;
    return descend(depth - 1, next, then) + more[0];
  }
  if ((shape & 0x20000U) != 0) {
    alignas(64) volatile char aligned[64];
    aligned[0] = 2;
    return descend(depth - 1, next, then) + aligned[0];
  }
  return descend(depth - 1, next, then) + frame[0];
}

// An engine attached to this program, which knows its mappings. Null, with a printed reason, where this kernel or
// these rights have none by tables.
std::unique_ptr<StackEngine> engine_or_skip() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::cerr << "skipped: sanitizers add frames of their own to those of backtrace()\n";
  return nullptr;
#endif
  auto engine = gpuprof::record::make_bpf_engine(BpfWalk::tables);
  if (!engine) {
    std::cerr << "skipped: " << engine.error().message << "\n";
    return nullptr;
  }
  static bool told = false;
  if (!std::exchange(told, true)) {
    std::cerr << "engine: " << (*engine)->name() << " note: " << (*engine)->note() << "\n";
  }
  if ((*engine)->name() != "bpf") {
    std::cerr << "skipped: " << (*engine)->note() << "\n";
    return nullptr;
  }
  REQUIRE((*engine)->attach_library("/proc/self/exe").ok());
  gpuprof::symbolize::ProcessMaps maps(static_cast<uint32_t>(::getpid()), gpuprof::symbolize::make_file_cache());
  REQUIRE(maps.refresh());
  (*engine)->on_process(maps);
  expected.clear();
  last_correlation = 0;
  python_thread = nullptr;
  return std::move(*engine);
}

bool can_wait_for_pages(const StackEngine& engine) {
  return engine.note().empty();
}

// The words but for the probe and launch(), which backtrace() sees at another instruction.
bool matches(const Stack& stack, const std::vector<uint64_t>& truth) {
  if (stack.words.size() != truth.size() + 2 || stack.flags != 0) {
    return false;
  }
  return std::equal(truth.begin(), truth.end(), stack.words.begin() + 2,
                    [](uint64_t address, uint64_t word) { return address == (word & GPUPROF_WORD_ADDRESS); });
}

size_t count_wrong(const Sink& sink) {
  return static_cast<size_t>(std::count_if(expected.begin(), expected.end(), [&](const auto& entry) {
    return !sink.launches.contains(entry.first) || !matches(sink.stack_of(entry.first), entry.second);
  }));
}

}  // namespace

TEST_CASE("random stacks without frame pointers are those of backtrace()", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  Sink sink;
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    descend(static_cast<int>(random() % 100), static_cast<unsigned>(random()), launch);
    if (i % 100 == 99) {
      engine->drain(sink);
    }
  }
  CHECK(sink.launches.size() == 1000);
  CHECK(sink.stacks.size() > 500);
  CHECK(count_wrong(sink) == 0);
  CHECK(engine->losses().stacks == 0);
}

TEST_CASE("a stack of 2000 frames is whole; of a deeper one the innermost frames are kept", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  Sink sink;
  descend(2000, 7, launch);
  descend(6000, 7, launch);
  engine->drain(sink);
  CHECK(matches(sink.stack_of(1), expected.at(1)));
  const Stack& cut = sink.stack_of(2);
  REQUIRE(cut.words.size() == GPUPROF_STACK_MAX_WORDS);
  CHECK(cut.flags == GPUPROF_STACK_TRUNCATED);
  REQUIRE(expected.at(2).size() >= GPUPROF_STACK_MAX_WORDS);
  const bool same = std::equal(cut.words.begin() + 2, cut.words.end(), expected.at(2).begin());
  CHECK(same);
}

TEST_CASE("only processes that are known are walked, and whole only with tables", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  const auto pid = static_cast<uint32_t>(::getpid());
  const auto same_launch = [] { descend(20, 1, launch); };
  Sink sink;
  for (int i = 0; i < 2; ++i) {
    same_launch();
  }
  engine->on_process_end(pid);
  same_launch();
  engine->expect_process(pid, false);  // known, without tables
  same_launch();
  gpuprof::symbolize::ProcessMaps maps(pid, gpuprof::symbolize::make_file_cache());
  REQUIRE(maps.refresh());
  engine->on_process(maps);
  same_launch();
  engine->drain(sink);
  CHECK(matches(sink.stack_of(1), expected.at(1)));
  CHECK(sink.launches.count(3) == 0);
  CHECK((sink.stack_of(4).flags & GPUPROF_STACK_TRUNCATED) != 0);
  CHECK(matches(sink.stack_of(5), expected.at(5)));
  CHECK(sink.launches.at(1) != sink.launches.at(5));  // the pid has come again
  engine->expect_process(pid, false);                 // knows it better
  same_launch();
  engine->expect_process(pid, true);
  same_launch();
  engine->drain(sink);
  CHECK(matches(sink.stack_of(6), expected.at(6)));
  CHECK((sink.stack_of(7).flags & GPUPROF_STACK_TRUNCATED) != 0);
}

TEST_CASE("what the loader changes is told, and stacks stay whole meanwhile", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  void* const library = ::dlopen("libgcc_s.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  Dl_info info{};
  REQUIRE(::dladdr(::dlsym(library, "_Unwind_Backtrace"), &info) != 0);
  const auto copy = std::filesystem::temp_directory_path() / ("copy-" + std::to_string(::getpid()) + ".so");
  std::filesystem::copy_file(info.dli_fname, copy, std::filesystem::copy_options::overwrite_existing);
  Sink sink;
  engine->drain(sink);
  sink.loaders.clear();
  void* const loaded = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(copy);
  REQUIRE(loaded != nullptr);
  engine->drain(sink);
  CHECK(sink.loaders.size() == 1);
  ::dlclose(loaded);
  descend(20, 1, launch);  // each frame's mapping is compared with what there is
  engine->drain(sink);
  CHECK(sink.loaders == std::vector<uint32_t>(2, static_cast<uint32_t>(::getpid())));
  CHECK(matches(sink.stack_of(1), expected.at(1)));
  ::dlclose(library);
}

TEST_CASE("files of processes that have ended are closed", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  const auto pid = static_cast<uint32_t>(::getpid());
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  engine->on_process_end(pid);
  const auto before = open_files();
  for (int i = 0; i < 3; ++i) {
    gpuprof::symbolize::ProcessMaps maps(pid, gpuprof::symbolize::make_file_cache());
    REQUIRE(maps.refresh());
    engine->on_process(maps);
    engine->on_process(maps);
    engine->on_process_end(pid);
  }
  CHECK(open_files() == before);
}

TEST_CASE("a thread's name is told once, and again when it changes", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  std::thread([] {
    for (const char* name : {"first", "first", "second"}) {
      ::pthread_setname_np(::pthread_self(), name);
      descend(3, 1, launch);
    }
  }).join();
  Sink sink;
  engine->drain(sink);
  // Where the kernel has no memory for a thread's storage, names come with each launch.
  sink.threads.erase(std::unique(sink.threads.begin(), sink.threads.end()), sink.threads.end());
  CHECK(sink.threads == std::vector<std::string>{"first", "second"});
  CHECK(count_wrong(sink) == 0);
}

TEST_CASE("stacks go through signal handlers, on the same stack and on another one", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  constexpr size_t kAlternateBytes = 256 * 1024;
  const std::unique_ptr<char[]> memory(new char[kAlternateBytes]);
  stack_t alternate{};
  alternate.ss_sp = memory.get();
  alternate.ss_size = kAlternateBytes;
  stack_t before{};
  REQUIRE(::sigaltstack(&alternate, &before) == 0);
  for (const int flags : {0, SA_ONSTACK}) {
    struct sigaction action {};
    struct sigaction old {};
    action.sa_handler = [](int) { descend(5, 1, launch); };
    action.sa_flags = flags;
    ::sigaction(SIGUSR1, &action, &old);
    descend(10, 3, [] { ::raise(SIGUSR1); });
    ::sigaction(SIGUSR1, &old, nullptr);
  }
  ::sigaltstack(&before, nullptr);
  Sink sink;
  engine->drain(sink);
  CHECK(sink.launches.size() == 2);
  CHECK(count_wrong(sink) == 0);
  const std::vector<uint64_t>& words = sink.stack_of(2).words;
  const auto exact =
      std::count_if(words.begin(), words.end(), [](uint64_t w) { return (w & GPUPROF_WORD_EXACT) != 0; });
  CHECK(exact == 1);
}

namespace {

// A stack of pages that can be taken out of the page table at any time: they are another file's.
struct FileStack {
  static constexpr size_t kBytes = 1U << 20;
  FileStack() : fd(::memfd_create("stack", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(fd, kBytes) == 0);
    memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(memory != MAP_FAILED);
  }
  ~FileStack() {
    ::munmap(memory, kBytes);
    ::close(fd);
  }
  int fd;
  void* memory;
};
FileStack* file_stack = nullptr;

// Everything from the page after this function's on.
__attribute__((noinline)) void launch_paged_out() {
  constexpr uint64_t kPage = 4096;
  const uint64_t begin = (reinterpret_cast<uint64_t>(__builtin_frame_address(0)) / kPage + 2) * kPage;
  const uint64_t end = reinterpret_cast<uint64_t>(file_stack->memory) + FileStack::kBytes;
  static void* addresses[kMaxDepth];
  const int count = backtrace(addresses, kMaxDepth);
  expected[++last_correlation] = {};
  for (int i = 1; i < count; ++i) {
    expected[last_correlation].push_back(reinterpret_cast<uint64_t>(addresses[i]));
  }
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  gpuprof_launch_probe(last_correlation, 1, 0, nullptr);
  asm volatile("");
}

}  // namespace

TEST_CASE("a stack whose pages are out is whole", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  if (!can_wait_for_pages(*engine)) {
    std::cerr << "skipped: " << engine->note() << "\n";
    return;
  }
  FileStack stack;
  file_stack = &stack;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack.memory, FileStack::kBytes);
  pthread_t thread{};
  const auto body = [](void*) -> void* {
    descend(1000, 5, launch_paged_out);
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, body, nullptr) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  Sink sink;
  engine->drain(sink);
  CHECK(expected.at(1).size() > 1000);
  CHECK(matches(sink.stack_of(1), expected.at(1)));
}

namespace {

// Memory that looks like CPython 3.12's, with frames in this program's own C frames.
struct FakeObject {
  uint64_t references = 1;
  uint64_t type = 0;
};
struct FakeText {
  FakeObject object;
  uint64_t length = 0;
  uint64_t hash = 0;
  uint32_t state = 0;
  uint32_t pad = 0;
  char ascii[64] = {};
  void set(const char* text) {
    length = std::strlen(text);
    state = (1U | 8U | 16U) << 2U;  // one byte a character, compact, ASCII
    std::strcpy(ascii, text);
  }
};
static_assert(offsetof(FakeText, ascii) == 40);
struct FakeBytes {
  FakeObject object;
  int64_t size = 0;
  uint64_t hash = 0;
  char data[8192] = {};
};
struct FakeCode {
  FakeObject object;
  char pad0[52] = {};
  uint32_t first_line = 0;  // at 68
  char pad1[20] = {};
  uint32_t version = 0;  // at 92
  char pad2[16] = {};
  FakeText* file = nullptr;  // at 112
  FakeText* name = nullptr;
  FakeText* qualified_name = nullptr;
  FakeBytes* line_table = nullptr;  // at 136
  char pad3[48] = {};
  char instructions[256] = {};  // at 192
};
static_assert(offsetof(FakeCode, first_line) == 68 && offsetof(FakeCode, version) == 92);
static_assert(offsetof(FakeCode, file) == 112 && offsetof(FakeCode, instructions) == 192);
struct FakeFrame {
  FakeCode* code = nullptr;
  FakeFrame* previous = nullptr;
  char pad0[40] = {};
  char* instruction = nullptr;  // at 56
  char pad1[6] = {};
  uint8_t owner = 0;  // at 70
};
static_assert(offsetof(FakeFrame, instruction) == 56 && offsetof(FakeFrame, owner) == 70);
struct FakeCFrame {
  FakeFrame* frame = nullptr;
};
struct FakeThread {
  char pad[56] = {};
  FakeCFrame* cframe = nullptr;
};

constexpr uint8_t kShim = 3;

gpuprof_python_layout fake_layout(uint64_t code_type) {
  gpuprof_python_layout layout{};
  layout.version = 0x030c00f0;
  layout.code_type = code_type;
  layout.tstate_frame = layout.cframe_previous = GPUPROF_PYTHON_NONE;
  layout.tstate_cframe = 56;
  layout.cframe_frame = 0;
  layout.frame_previous = 8;
  layout.frame_code = 0;
  layout.frame_instruction = 56;
  layout.frame_boundary = 70;
  layout.boundary = GPUPROF_PYTHON_SHIM;
  layout.shim_owner = kShim;
  layout.code_type_field = 8;
  layout.code_start = 192;
  layout.code_name = 120;
  layout.code_qualname = 128;
  layout.code_filename = 112;
  layout.code_first_line = 68;
  layout.code_line_table = 136;
  layout.bytes_size = 16;
  layout.bytes_data = 32;
  layout.text_length = 16;
  layout.text_state = 32;
  layout.text_ascii = 40;
  layout.text_wide = 56;
  layout.frame_owner = 70;
  layout.code_first_traceable = 176;
  layout.code_version = 92;
  layout.text_kind_shift = 2;
  return layout;
}

// All of it in pages that can be taken out.
struct FakePython {
  FakeObject code_type;
  FakeThread thread;
  FakeCFrame cframe;
  FakeText file;
  FakeText names[3];
  FakeBytes line_tables[3];
  FakeCode codes[3];
  FakeFrame frames[3000];
  size_t used = 0;

  void set_up() {
    thread.cframe = &cframe;
    file.set("train.py");
    for (size_t i = 0; i < 3; ++i) {
      names[i].set(i == 0 ? "outer" : i == 1 ? "Model.forward" : "helper");
      line_tables[i].size = i == 2 ? 8000 : 10;
      codes[i].object.type = reinterpret_cast<uint64_t>(&code_type);
      codes[i].first_line = static_cast<uint32_t>(10 * (i + 1));
      codes[i].version = static_cast<uint32_t>(i + 1);
      codes[i].file = &file;
      codes[i].name = &file;
      codes[i].qualified_name = &names[i];
      codes[i].line_table = &line_tables[i];
    }
  }
  void push(size_t code, FakeFrame* previous, int offset) {
    FakeFrame& frame = frames[used++];
    frame = {};
    frame.code = &codes[code];
    frame.previous = previous;
    frame.instruction = codes[code].instructions + offset;
    cframe.frame = &frame;
  }
};
FakePython* fake = nullptr;

// As CPython's loop does it: a shim in its own C frame, then the Python frames that it runs.
__attribute__((noinline)) void evaluate(int runs, int frames, void (*then)()) {
  FakeFrame shim;
  shim.previous = fake->cframe.frame;
  shim.owner = kShim;
  FakeFrame* previous = &shim;
  for (int i = 0; i < frames; ++i) {
    fake->push(static_cast<size_t>(i) % 3, previous, 2 * i % 256);
    previous = fake->cframe.frame;
  }
  asm volatile("" : : "r"(&shim) : "memory");
  if (runs > 1) {
    descend(2, 9, [] {});
    evaluate(runs - 1, frames, then);
  } else {
    descend(3, 5, then);
  }
  fake->cframe.frame = shim.previous;
  asm volatile("" : : "r"(&shim) : "memory");
}

struct FakePythonMemory {
  FakePythonMemory() : fd(::memfd_create("python", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(fd, sizeof(FakePython)) == 0);
    void* memory = ::mmap(nullptr, sizeof(FakePython), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(memory != MAP_FAILED);
    fake = new (memory) FakePython;
    fake->set_up();
    python_thread = &fake->thread;
  }
  ~FakePythonMemory() {
    ::munmap(fake, sizeof(FakePython));
    ::close(fd);
    python_thread = nullptr;
  }
  int fd;
};

std::vector<uint64_t> native_words(const Stack& stack) {
  std::vector<uint64_t> words;
  std::copy_if(stack.words.begin(), stack.words.end(), std::back_inserter(words),
               [](uint64_t word) { return (word & GPUPROF_WORD_PYTHON) == 0; });
  return words;
}

std::vector<std::string> python_names(const Sink& sink, const Stack& stack) {
  std::vector<std::string> names;
  for (const uint64_t word : stack.words) {
    if ((word & GPUPROF_WORD_PYTHON) != 0) {
      names.push_back(sink.codes.at(GPUPROF_WORD_PYTHON_CODE(word)).name + "+" +
                      std::to_string(GPUPROF_WORD_PYTHON_OFFSET(word)));
    }
  }
  return names;
}

}  // namespace

TEST_CASE("Python frames stand before the native frame that runs them", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  const FakePythonMemory memory;
  engine->on_python(static_cast<uint32_t>(::getpid()), fake_layout(reinterpret_cast<uint64_t>(&fake->code_type)));
  evaluate(2, 3, launch);
  launch();  // in no Python function
  Sink sink;
  engine->drain(sink);

  const Stack& stack = sink.stack_of(1);
  CHECK(matches({native_words(stack), stack.flags}, expected.at(1)));
  const std::vector<std::string> run = {"helper+4", "Model.forward+2", "outer+0"};
  std::vector<std::string> twice = run;
  twice.insert(twice.end(), run.begin(), run.end());
  CHECK(python_names(sink, stack) == twice);
  size_t runs = 0;
  for (size_t i = 1; i < stack.words.size(); ++i) {
    const bool python_before = (stack.words[i - 1] & GPUPROF_WORD_PYTHON) != 0;
    if ((stack.words[i] & GPUPROF_WORD_PYTHON) == 0 && python_before) {
      ++runs;
      CHECK((stack.words[i] & GPUPROF_WORD_EVAL) != 0);
      const uint64_t address = stack.words[i] & GPUPROF_WORD_ADDRESS;
      const auto begin = reinterpret_cast<uint64_t>(&evaluate);
      CHECK(address > begin);
      CHECK(address < begin + 1024);
    }
  }
  CHECK(runs == 2);
  CHECK(sink.codes.size() == 3);
  for (const auto& [id, code] : sink.codes) {
    CHECK(code.file == "train.py");
    CHECK(code.line_table_bytes == (code.name == "helper" ? 8000 : 10));
    CHECK(code.first_line == (code.name == "helper" ? 30 : code.name == "outer" ? 10 : 20));
  }
  CHECK(sink.stack_of(2).flags == GPUPROF_STACK_NO_PYTHON);
}

TEST_CASE("Python recursion of 1000 frames is whole, with the interpreter's memory paged out", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  const FakePythonMemory memory;
  engine->on_python(static_cast<uint32_t>(::getpid()), fake_layout(reinterpret_cast<uint64_t>(&fake->code_type)));
  const bool wait = can_wait_for_pages(*engine);
  evaluate(1, 1000, wait ? [] {
    ::madvise(fake, sizeof(FakePython), MADV_DONTNEED);
    launch();
  } : launch);
  Sink sink;
  engine->drain(sink);
  const Stack& stack = sink.stack_of(1);
  CHECK(stack.flags == 0);
  CHECK(python_names(sink, stack).size() == 1000);
  CHECK(sink.codes.size() == 3);
}

TEST_CASE("hostile Python structures end the Python frames, and nothing else", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  const FakePythonMemory memory;
  engine->on_python(static_cast<uint32_t>(::getpid()), fake_layout(reinterpret_cast<uint64_t>(&fake->code_type)));
  const auto launch_with = [&](const std::function<void()>& damage) {
    static const std::function<void()>* now = nullptr;
    now = &damage;
    evaluate(1, 3, [] {
      (*now)();
      launch();
    });
    fake->used = 0;
    fake->set_up();
  };
  launch_with([] { fake->frames[1].previous = &fake->frames[2]; });  // a cycle
  launch_with([] { fake->frames[1].code = reinterpret_cast<FakeCode*>(8); });
  launch_with([] { fake->codes[1].object.type = 1; });
  launch_with([] {
    fake->names[0].length = UINT64_MAX;
    fake->codes[0].version = 77;
  });
  launch_with([] {
    fake->line_tables[0].size = -1;
    fake->codes[0].version = 78;
  });
  launch_with([] {
    fake->codes[0].qualified_name = nullptr;
    fake->codes[0].version = 79;
  });
  Sink sink;
  engine->drain(sink);
  for (uint64_t i = 1; i <= 3; ++i) {
    CHECK((sink.stack_of(i).flags & GPUPROF_STACK_TRUNCATED) != 0);
  }
  for (uint64_t i = 2; i <= 6; ++i) {
    CHECK(matches({native_words(sink.stack_of(i)), 0}, expected.at(i)));
  }
  for (uint64_t i = 4; i <= 6; ++i) {
    CHECK(sink.stack_of(i).flags == 0);
    CHECK(python_names(sink, sink.stack_of(i)).size() == 3);
  }
}
