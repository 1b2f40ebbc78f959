#include "python/python.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/atomics.h"
#include "ipc/emit.h"
#include "python/python_code.h"
#include "python/python_memory.h"
#include "wire/python_layouts.h"

namespace gpuprof::injection {
namespace {

constexpr uint32_t kVersion3_12 = 0x030c0000;
constexpr uint32_t kVersion3_13 = 0x030d0000;
constexpr uint8_t kOwnedByGenerator = 1;
constexpr uint32_t kBeforeFirst = UINT32_MAX;

// Functions of the interpreter, which take no lock and do not need the GIL.
struct Functions {
  // Returns the state of this thread; before Python 3.12, the state of the thread that holds the GIL.
  void* (*current)();
  void* (*of_thread)();  // returns the thread state that this thread used last
  int (*is_initialized)();
  void* (*first_interpreter)();
  void* (*main_interpreter)();
};

enum Found : uint32_t { kNothing = 0, kFollowed = 1, kRefused = 2 };

// The process's interpreter. Fields that describe it do not change once `found` is set.
struct Python {
  uint32_t found = kNothing;
  uint32_t searching = 0;  // pid of the process in which a thread is searching; 0: no thread is
  uint32_t reported = 0;   // 1: the result was reported to the recorder
  uint32_t proven = 0;     // 1: a complete walk has found valid frames
  uint64_t doubted = 0;    // the first thread with an invalid stack, while `proven` is 0
  uint32_t doubts = 0;     // number of further invalid stacks of the thread `doubted`
  uint64_t loaded = 0;     // number of libraries that were loaded before the last search
  const char* refused = nullptr;
  Functions functions = {};
  PythonLayout layout = {};
};
Python python_here;

using Handle = void*;

template <typename Function>
void look_up(Handle library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

int count_loaded(dl_phdr_info* info, size_t /*bytes*/, void* count) {
  *static_cast<uint64_t*>(count) = info->dlpi_adds;
  return 1;
}

constexpr size_t kMaxPath = 4096;

// Receives the path of the `skip`-th library that may contain an interpreter.
struct Candidate {
  uint32_t skip;
  char path[kMaxPath];
};

bool is_named_as_interpreter(const char* path) {
  const char* slash = path == nullptr ? nullptr : strrchr(path, '/');
  const char* name = slash == nullptr ? "" : slash + 1;
  return strncmp(name, "libpython", 9) == 0 || strncmp(name, "libpypy", 7) == 0;
}

int find_candidate(dl_phdr_info* info, size_t /*bytes*/, void* context) {
  auto* candidate = static_cast<Candidate*>(context);
  if (!is_named_as_interpreter(info->dlpi_name)) {
    return 0;
  }
  if (candidate->skip != 0) {
    --candidate->skip;
    return 0;
  }
  if (strlen(info->dlpi_name) >= kMaxPath) {
    return 0;
  }
  strcpy(candidate->path, info->dlpi_name);
  return 1;
}

int is_candidate(dl_phdr_info* info, size_t /*bytes*/, void* /*context*/) {
  return is_named_as_interpreter(info->dlpi_name) ? 1 : 0;
}

bool has_candidate() {
  // Unlike dlsym(), dl_iterate_phdr() does not wait for constructors of libraries.
  return dl_iterate_phdr(is_candidate, nullptr) != 0;
}

bool has_interpreter(Handle library) {
  return dlsym(library, "PyGILState_GetThisThreadState") != nullptr || dlsym(library, "pypy_main_startup") != nullptr;
}

// Searches the program and the globally visible libraries, then the privately opened ones. Keeps the interpreter's
// library loaded, because launches call its functions.
bool find_interpreter(Handle* library) {
  *library = RTLD_DEFAULT;
  if (has_interpreter(RTLD_DEFAULT)) {
    Dl_info info = {};
    void* function = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    const bool known = function != nullptr && dladdr(function, &info) != 0 && info.dli_fname != nullptr;
    // A name without a slash would make dlopen() search the library path.
    if (known && strchr(info.dli_fname, '/') != nullptr) {
      static_cast<void>(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD));
    }
    return true;
  }
  // Static, because it is too large for the stack of an arbitrary thread; protected by `searching`.
  static Candidate candidate;
  constexpr uint32_t kMaxCandidates = 16;
  for (uint32_t i = 0; i < kMaxCandidates; ++i) {
    candidate.skip = i;
    if (dl_iterate_phdr(find_candidate, &candidate) == 0) {
      break;
    }
    *library = dlopen(candidate.path, RTLD_LAZY | RTLD_NOLOAD);
    if (*library != nullptr && has_interpreter(*library)) {
      return true;
    }
    if (*library != nullptr) {
      dlclose(*library);
    }
  }
  return false;
}

// Parses a version text such as "3.9.18 (main, ...". Returns its PY_VERSION_HEX, as of a final release.
uint32_t version_of_text(const char* text) {
  char* end = nullptr;
  uint32_t parts[3] = {};
  for (uint32_t& part : parts) {
    const unsigned long value = strtoul(text, &end, 10);
    if (end == text || value > UINT8_MAX) {
      break;
    }
    part = static_cast<uint32_t>(value);
    if (*end != '.') {
      break;
    }
    text = end + 1;
  }
  constexpr uint32_t kFinal = 0xf0;
  return parts[0] << 24U | parts[1] << 16U | parts[2] << 8U | kFinal;
}

uint32_t version_of(Handle library) {
  if (const auto* number = static_cast<const unsigned long*>(dlsym(library, "Py_Version")); number != nullptr) {
    return static_cast<uint32_t>(*number);
  }
  const char* (*text)() = nullptr;
  look_up(library, "Py_GetVersion", &text);
  return text == nullptr ? 0 : version_of_text(text());
}

void find_eval_range(Handle library, gpuprof_python_layout* layout) {
  void* eval = dlsym(library, "_PyEval_EvalFrameDefault");
  Dl_info info = {};
  ElfW(Sym)* symbol = nullptr;
  if (eval != nullptr && dladdr1(eval, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) != 0 &&
      symbol != nullptr && info.dli_saddr == eval) {
    layout->eval_begin = reinterpret_cast<uint64_t>(eval);
    layout->eval_end = layout->eval_begin + symbol->st_size;
  }
}

// Returns whether code_type is the address of the type object of code objects, and code_type_field the offset of
// ob_type.
bool is_code_type(const PythonLayout& layout, const void* type_of_types) {
  const PythonMemory memory(false);  // Reads directly, because each check shows that the next address is valid.
  const gpuprof_python_layout& wire = layout.wire;
  uint64_t type = 0;
  uint64_t name = 0;
  char text[5] = {};
  constexpr uint32_t kNameBehindSize = 16;  // offset from ob_type to tp_name, which follows ob_size
  return memory.read(wire.code_type + wire.code_type_field, &type) &&
         type == reinterpret_cast<uint64_t>(type_of_types) &&
         memory.read(wire.code_type + wire.code_type_field + kNameBehindSize, &name) && memory.read(name, &text) &&
         memcmp(text, "code", sizeof(text)) == 0;
}

void find_functions(Handle library, Functions* functions) {
  look_up(library, "PyThreadState_GetUnchecked", &functions->current);
  if (functions->current == nullptr) {
    look_up(library, "_PyThreadState_UncheckedGet", &functions->current);
  }
  look_up(library, "PyGILState_GetThisThreadState", &functions->of_thread);
  look_up(library, "Py_IsInitialized", &functions->is_initialized);
  look_up(library, "PyInterpreterState_Head", &functions->first_interpreter);
  look_up(library, "PyInterpreterState_Main", &functions->main_interpreter);
}

// Examines the interpreter. Returns null if gpuprof supports it, else the reason why not.
const char* examine(Handle library, Functions* functions, PythonLayout* layout) {
  if (dlsym(library, "PyGILState_GetThisThreadState") == nullptr) {
    layout->wire.version = 0x02070000;  // any unsupported version; 0 would mean "no Python"
    return "PyPy";
  }
  const char* refused = layout_of_python(version_of(library), dlsym(library, "_PyRuntime"), layout);
  if (refused != nullptr) {
    return refused;
  }
  find_functions(library, functions);
  find_eval_range(library, &layout->wire);
  layout->wire.code_type = reinterpret_cast<uint64_t>(dlsym(library, "PyCode_Type"));
  if (functions->current == nullptr || functions->of_thread == nullptr || functions->is_initialized == nullptr ||
      functions->first_interpreter == nullptr || functions->main_interpreter == nullptr) {
    return "the interpreter lacks a function of the C API";
  }
  if (!is_code_type(*layout, dlsym(library, "PyType_Type"))) {
    return "the interpreter's structures differ from those of its version";
  }
  return nullptr;
}

// Searches for the interpreter. The caller must hold `searching`.
void search() {
  uint64_t loaded = 0;
  dl_iterate_phdr(count_loaded, &loaded);
  if (loaded == python_here.loaded) {
    return;
  }
  const bool first = python_here.loaded == 0;
  python_here.loaded = loaded;
  // dlsym() waits while any thread runs the constructor of a library, and that thread may wait for this one. The first
  // search covers the libraries that are loaded at the start. Later searches run only if a library is named like an
  // interpreter.
  if (!first && !has_candidate()) {
    return;
  }
  Handle library = nullptr;
  if (find_interpreter(&library)) {
    python_here.refused = examine(library, &python_here.functions, &python_here.layout);
    if (python_here.refused != nullptr) {
      python_here.layout.wire.flags = GPUPROF_PYTHON_REFUSED;
    }
    store_release(&python_here.found, python_here.refused == nullptr ? uint32_t{kFollowed} : uint32_t{kRefused});
  }
  dlerror();  // clears the error of a failed dlsym(), so that the target's dlerror() does not return it
}

void report_version() {
  if (load_relaxed(&python_here.reported) != 0 || !swap_if(&python_here.reported, 0, 1)) {
    return;
  }
  const gpuprof_python_layout layout = python_layout();
  if (!python(layout)) {
    store_relaxed(&python_here.reported, 0U);
    return;
  }
  constexpr uint32_t kByte = 0xff;
  char version[16] = {};
  snprintf(version, sizeof(version), "%u.%u.%u", layout.version >> 24U, layout.version >> 16U & kByte,
           layout.version >> 8U & kByte);
  const bool pypy = python_here.refused != nullptr && strcmp(python_here.refused, "PyPy") == 0;
  meta("python.version", pypy ? "PyPy" : version);
  if (python_here.refused != nullptr) {
    meta("python.refused", python_here.refused);
  }
}

// Rejects the interpreter, because its structures are not at the expected offsets. Stacks then have no Python frames,
// which is better than wrong frames.
void refuse() {
  if (swap_if(&python_here.found, kFollowed, kRefused)) {
    python_here.refused = "the interpreter's frames are not at the offsets of its version";
    store_release(&python_here.reported, 0U);
    report_version();
  }
}

// Notes an invalid stack. A single thread may be unusual. So the layout is rejected only if a second thread has an
// invalid stack, or if the same thread has many.
void doubt(uint64_t thread) {
  constexpr uint32_t kManyDoubts = 1000;
  const uint64_t before = load_relaxed(&python_here.doubted);
  if (before == 0) {
    store_relaxed(&python_here.doubted, thread);
  } else if (before != thread || add_relaxed(&python_here.doubts, 1U) >= kManyDoubts) {
    refuse();
  }
}

bool is_this_thread(const PythonLayout& layout, const PythonMemory& memory, uint64_t thread) {
  uint64_t ident = 0;
  return thread % 8 == 0 && memory.read(thread + layout.thread_ident, &ident) &&
         ident == static_cast<uint64_t>(pthread_self());
}

// Before 3.12, the current thread state may belong to another thread, which may end at any moment. So this reads the
// current state only if the thread may have moved to another interpreter. It may have if there are several
// interpreters, and the current state differs from the state that this thread used last.
const void* thread_before_3_12(const Functions& functions, const PythonLayout& layout) {
  void* own = functions.of_thread();
  void* current = functions.current();
  if (own == nullptr || current == own) {
    return own;
  }
  if (current != nullptr && functions.first_interpreter() != functions.main_interpreter() &&
      is_this_thread(layout, PythonMemory(true), reinterpret_cast<uint64_t>(current))) {
    return current;
  }
  // A finalizing interpreter frees the states of threads, although the threads still exist.
  return functions.is_initialized() != 0 ? own : nullptr;
}

const void* thread_from_3_12(const Functions& functions) {
  void* current = functions.current();
  if (current != nullptr) {
    return current;
  }
  return functions.is_initialized() != 0 ? functions.of_thread() : nullptr;
}

template <bool kCareful>
class FrameWalk {
 public:
  using Memory = FrameMemory<kCareful>;

  FrameWalk(const PythonLayout& layout, const FrameMemory<kCareful>& memory, NearCodes* near)
      : layout_(layout), memory_(memory), near_(near) {}

  // Returns false if the thread's frames cannot be found.
  bool begin(uint64_t thread) {
    const gpuprof_python_layout& wire = layout_.wire;
    if (wire.tstate_cframe != GPUPROF_PYTHON_NONE &&
        (!load_pointer(thread + wire.tstate_cframe, &cframe_) || cframe_ == 0)) {
      return false;
    }
    return wire.cframe_frame != GPUPROF_PYTHON_NONE ? load_pointer(cframe_ + wire.cframe_frame, &frame_)
                                                    : load_pointer(thread + wire.tstate_frame, &frame_);
  }

  [[nodiscard]] bool at_end() const { return frame_ == 0; }

  enum class Kind : uint8_t {
    python,      // a Python frame
    incomplete,  // a frame that has not started, or one that runs no Python code
    shim,        // not a frame; it marks the end of a run of frames
    bad,
  };

  struct Frame {
    uint64_t code;
    uint32_t id;      // id of the code object; 0: not known yet
    uint32_t offset;  // offset of the instruction
  };

  // Examines the current frame. Sets `frame` for Kind::python. Sets `boundary` (see PythonFrame::boundary), which is
  // nonzero only for the outermost frame of a run.
  Kind look(Frame* frame, uint64_t* boundary) const {
    const gpuprof_python_layout& wire = layout_.wire;
    uint8_t mark = 0;
    *boundary = 0;
    if (wire.boundary != GPUPROF_PYTHON_EACH && !memory_.load(frame_ + wire.frame_boundary, &mark)) {
      return Kind::bad;
    }
    if (wire.boundary == GPUPROF_PYTHON_SHIM && mark >= wire.shim_owner) {
      *boundary = frame_;
      return Kind::shim;
    }
    if (wire.boundary == GPUPROF_PYTHON_EACH || (wire.boundary == GPUPROF_PYTHON_IS_ENTRY && mark != 0)) {
      *boundary = wire.cframe_previous != GPUPROF_PYTHON_NONE ? cframe_ : 1;
    }
    return read_frame(frame);
  }

  // Moves to the frame's caller. Returns false if the caller cannot be found.
  bool step(uint64_t boundary) {
    const gpuprof_python_layout& wire = layout_.wire;
    if (boundary != 0 && wire.cframe_previous != GPUPROF_PYTHON_NONE &&
        (cframe_ == 0 || !load_pointer(cframe_ + wire.cframe_previous, &cframe_))) {
      return false;
    }
    return load_pointer(frame_ + wire.frame_previous, &frame_);
  }

 private:
  // Loads a pointer to an object, or a null pointer.
  bool load_pointer(uint64_t address, uint64_t* to) const {
    return memory_.load(address, to) && (Memory::is_object(*to) || *to == 0);
  }

  Kind read_frame(Frame* frame) const {
    const gpuprof_python_layout& wire = layout_.wire;
    constexpr uint64_t kTags = 7;
    uint64_t type = 0;
    uint64_t code = 0;
    if (!memory_.load(frame_ + wire.frame_code, &code)) {
      return Kind::bad;
    }
    code &= wire.code_tagged != 0 ? ~kTags : ~uint64_t{0};
    if (!Memory::is_object(code)) {
      return Kind::bad;
    }
    frame->code = code;
    if (const NearCode* near = find_near<kCareful>(memory_, layout_, code, near_); near != nullptr) {
      frame->id = near->id;
      return read_instruction(code, near->first_traceable, &frame->offset);
    }
    frame->id = 0;
    if (!memory_.load(code + wire.code_type_field, &type)) {
      return Kind::bad;
    }
    if (type != wire.code_type) {
      // Since 3.13, frames may refer to objects that are not code. Such frames are not Python functions.
      return wire.version >= kVersion3_13 ? Kind::incomplete : Kind::bad;
    }
    if (wire.instruction_unit != 0) {
      return read_index(&frame->offset);
    }
    int32_t first = 0;
    return memory_.load(code + wire.code_first_traceable, &first) ? read_instruction(code, first, &frame->offset)
                                                                  : Kind::bad;
  }

  Kind read_index(uint32_t* offset) const {
    int32_t index = 0;
    if (!memory_.load(frame_ + layout_.wire.frame_instruction, &index)) {
      return Kind::bad;
    }
    *offset = index < 0 ? kBeforeFirst : static_cast<uint32_t>(index) * layout_.wire.instruction_unit;
    return Kind::python;
  }

  Kind read_instruction(uint64_t code, int32_t first, uint32_t* offset) const {
    const gpuprof_python_layout& wire = layout_.wire;
    uint64_t instruction = 0;
    uint8_t owner = 0;
    if (!memory_.load(frame_ + wire.frame_instruction, &instruction) ||
        !memory_.load(frame_ + wire.frame_owner, &owner)) {
      return Kind::bad;
    }
    const auto bytes = static_cast<int64_t>(instruction - (code + wire.code_start));
    constexpr int64_t kMaxBytes = INT32_MAX;
    if (owner != kOwnedByGenerator && bytes < int64_t{first} * 2) {
      return Kind::incomplete;
    }
    if (bytes > kMaxBytes) {
      return Kind::bad;
    }
    *offset = bytes < 0 ? kBeforeFirst : static_cast<uint32_t>(bytes);
    return Kind::python;
  }

  const PythonLayout& layout_;
  FrameMemory<kCareful> memory_;
  NearCodes* near_;
  uint64_t frame_ = 0;  // 0, or an address that has passed is_object(), like cframe_
  uint64_t cframe_ = 0;
};

// Returns whether safe_read() works. If a sandbox blocks it, the layout is used without a check.
bool can_read_carefully() {
  const uint64_t here = 1;
  uint64_t copy = 0;
  return PythonMemory(true).read(reinterpret_cast<uint64_t>(&here), &copy) && copy == here;
}

// Detects finalization, in which the interpreter frees states and frames of threads that do not hold the GIL. (PyTorch
// launches without the GIL.) The interpreter sets a flag first. So data that was loaded while the flag was clear is
// valid; the walk uses it within about 10 ns. Loading all data by system calls would cost 100 times as much. No lock
// could stop finalization.
class EndWatch {
 public:
  explicit EndWatch(uint64_t thread)
      : is_initialized_(reinterpret_cast<uint64_t>(python_here.functions.current()) == thread
                            ? nullptr
                            : python_here.functions.is_initialized) {}

  [[nodiscard]] bool ended() const { return is_initialized_ != nullptr && is_initialized_() == 0; }

 private:
  int (*is_initialized_)();  // null if this thread holds the GIL, because no other thread can then finalize
};

// Walks all frames. Returns false if memory has invalid contents or the interpreter has begun to finalize.
template <bool kCareful>
bool walk_frames(gpuprof_segment* segment, ThreadState& state, uint64_t thread, const EndWatch& watch,
                 PythonWalk* walk) {
  // A local copy, so that the compiler need not reload it after each store.
  const PythonLayout layout = python_here.layout;
  const FrameMemory<kCareful> memory = {walk->pieces};
  FrameWalk<kCareful> frames(layout, memory, walk->near);
  if (!is_this_thread(layout, FrameMemory<kCareful>::any(), thread) || !frames.begin(thread) || watch.ended()) {
    return false;
  }
  using Walk = FrameWalk<kCareful>;
  using Kind = typename Walk::Kind;
  check_near(walk->near);
  PythonFrame* const to = walk->frames;
  const uint32_t capacity = walk->capacity;
  uint64_t steps = uint64_t{capacity} * 4;  // limits the loop, because incomplete frames do not increase `count`
  uint32_t count = 0;
  bool in_run = false;  // true: the last frame in `to` belongs to the current run
  bool good = true;
  for (; good && !frames.at_end(); --steps) {
    typename Walk::Frame frame;
    uint64_t boundary = 0;
    const Kind kind = frames.look(&frame, &boundary);
    if (kind == Kind::python) {
      if (count == capacity) {
        walk->truncated = 1;
        break;
      }
      const uint32_t id =
          frame.id != 0 ? frame.id : code_id<kCareful>(memory, segment, state, layout, frame.code, walk->near);
      if (id == 0) {
        good = false;
        break;
      }
      to[count++] = {GPUPROF_WORD_OF_PYTHON(id, frame.offset), 0};
      in_run = true;
    }
    if (boundary != 0) {
      if (in_run) {
        to[count - 1].boundary = boundary;
      }
      in_run = false;
    }
    good = kind != Kind::bad && frames.step(boundary) && steps != 0;
  }
  walk->count = count;
  return good;
}

}  // namespace

void find_python() {
  if (load_acquire(&python_here.found) == kNothing) {
    if (!swap_if(&python_here.searching, 0, static_cast<uint32_t>(getpid()))) {
      return;
    }
    if (load_acquire(&python_here.found) == kNothing) {
      search();
    }
    unlock(&python_here.searching);
  }
  if (load_acquire(&python_here.found) != kNothing) {
    report_version();
  }
}

void stop_finding_python() {
  static_cast<void>(swap_if(&python_here.searching, 0, static_cast<uint32_t>(getpid())));
}

gpuprof_python_layout python_layout() {
  const uint32_t found = load_acquire(&python_here.found);
  gpuprof_python_layout layout = {};
  if (found != kNothing) {
    layout = python_here.layout.wire;
    layout.flags |= found == kRefused ? GPUPROF_PYTHON_REFUSED : 0U;
  }
  return layout;
}

namespace {

// Finds the module that contains the address `function`, and whether this thread has its thread-local memory.
struct LocalMemory {
  uint64_t function;
  bool is_there;
};

int find_local_memory(dl_phdr_info* info, size_t size, void* context) {
  auto* wanted = static_cast<LocalMemory*>(context);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && wanted->function >= begin && wanted->function - begin < segment.p_memsz) {
      const bool known = size >= offsetof(dl_phdr_info, dlpi_tls_data) + sizeof(info->dlpi_tls_data);
      wanted->is_there = known && (info->dlpi_tls_modid == 0 || info->dlpi_tls_data != nullptr);
      return 1;
    }
  }
  return 0;
}

}  // namespace

// The memory of a library that was loaded at the start of the program exists in each thread. That of a library that
// was loaded later exists only in threads that have used it.
bool is_python_safe_in_handlers() {
  if (load_acquire(&python_here.found) != kFollowed) {
    return false;
  }
  LocalMemory memory = {reinterpret_cast<uint64_t>(python_here.functions.current), false};
  dl_iterate_phdr(find_local_memory, &memory);
  return memory.is_there;
}

const void* python_thread() {
  if (load_acquire(&python_here.found) != kFollowed) {
    return nullptr;
  }
  const PythonLayout& layout = python_here.layout;
  return layout.wire.version >= kVersion3_12 ? thread_from_3_12(python_here.functions)
                                             : thread_before_3_12(python_here.functions, layout);
}

void walk_python(gpuprof_segment* segment, ThreadState& state, const void* thread, bool careful, PythonWalk* walk) {
  walk->count = 0;
  walk->truncated = 0;
  if (load_acquire(&python_here.found) != kFollowed || thread == nullptr) {
    return;
  }
  if (state.in_handler == 0) {
    report_version();
  }
  const bool proven = load_relaxed(&python_here.proven) != 0 || !can_read_carefully();
  const auto python = reinterpret_cast<uint64_t>(thread);
  const EndWatch watch(python);
  const bool good = careful || !proven ? walk_frames<true>(segment, state, python, watch, walk)
                                       : walk_frames<false>(segment, state, python, watch, walk);
  if (!good) {
    walk->truncated = 1;
  }
  if (watch.ended()) {
    walk->count = 0;
    return;
  }
  if (!proven && !careful) {
    if (!good) {
      walk->count = 0;
      doubt(python);
    } else if (walk->count != 0) {
      store_relaxed(&python_here.proven, 1U);
    }
  }
}

void reset_python() {
  reset_code();
  store_relaxed(&python_here.reported, 0U);
  if (load_relaxed(&python_here.searching) != static_cast<uint32_t>(getpid())) {
    // A thread of the parent may have set it. That thread does not exist in a forked child.
    store_relaxed(&python_here.searching, 0U);
  }
}

}  // namespace gpuprof::injection
