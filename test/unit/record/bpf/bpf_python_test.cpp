// Tests Python frames in the BPF walk, with structures like CPython 3.12's. Compiled without frame pointers.

#include <sys/mman.h>

#include <cstring>
#include <functional>

#include "bpf_rig.h"

using namespace gpuprof::test;

namespace {

// The Fake structs have the layout of CPython 3.12. Their Python frames are run by C frames of this program.
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
struct FakeInterpreter {
  FakeObject object;
  char pad0[52] = {};
  uint32_t first_line = 0;  // offset 68
  char pad1[20] = {};
  uint32_t version = 0;  // offset 92
  char pad2[16] = {};
  FakeText* file = nullptr;  // offset 112
  FakeText* name = nullptr;
  FakeText* qualified_name = nullptr;
  FakeBytes* line_table = nullptr;  // offset 136
  char pad3[48] = {};
  char instructions[256] = {};  // offset 192
};
static_assert(offsetof(FakeInterpreter, first_line) == 68 && offsetof(FakeInterpreter, version) == 92);
static_assert(offsetof(FakeInterpreter, file) == 112 && offsetof(FakeInterpreter, instructions) == 192);
struct FakeFrame {
  FakeInterpreter* code = nullptr;
  FakeFrame* previous = nullptr;
  char pad0[40] = {};
  char* instruction = nullptr;  // offset 56
  char pad1[6] = {};
  uint8_t owner = 0;  // offset 70
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

// The objects lie in pages that can be paged out.
struct FakePython {
  FakeObject code_type;
  FakeThread thread;
  FakeCFrame cframe;
  FakeText file;
  FakeText names[3];
  FakeBytes line_tables[3];
  FakeInterpreter codes[3];
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

// Behaves like CPython's evaluation loop: pushes a shim frame, then `frames` Python frames, all run by this C frame.
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

TEST_CASE("Python frames are placed before the native frame that runs them", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  const FakePythonMemory memory;
  engine->on_python(static_cast<uint32_t>(::getpid()), fake_layout(reinterpret_cast<uint64_t>(&fake->code_type)));
  evaluate(2, 3, launch);
  launch();  // not in a Python function
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

TEST_CASE("a Python stack of 1000 frames is complete, even if the interpreter's memory is paged out", "[bpf]") {
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

TEST_CASE("hostile Python structures end only the Python frames", "[bpf]") {
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
  launch_with([] { fake->frames[1].previous = &fake->frames[2]; });  // the frames form a cycle
  launch_with([] { fake->frames[1].code = reinterpret_cast<FakeInterpreter*>(8); });
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
