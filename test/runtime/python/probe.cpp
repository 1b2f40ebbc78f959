// Returns the in-process engine's Python walk at a call through ctypes, as text. Tests compare the result of
// walk_python() with the interpreter's own view, without a recorder.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "python/python.h"
#include "python/python_code.h"
#include "symbolize/python_lines.h"
#include "wire/wire.h"

using gpuprof::injection::PythonFrame;
using gpuprof::injection::PythonWalk;

namespace {

constexpr uint32_t kMaxFrames = 2048;

struct Code {
  std::string name;
  std::string file;
  std::string table;
  uint32_t version = 0;
  uint32_t first_line = 0;
};

struct Probe {
  gpuprof_segment* segment = nullptr;
  std::map<uint32_t, Code> codes;
  std::map<std::string, std::string> walks;
  uint64_t records = 0;
};

Probe& probe() {
  static Probe the_probe;
  return the_probe;
}

void take_code(const uint8_t* record) {
  gpuprof_code head = {};
  memcpy(static_cast<void*>(&head), record, sizeof(head));
  const auto* text = reinterpret_cast<const char*>(record) + sizeof(gpuprof_code);
  Code code;
  code.version = head.version;
  code.first_line = head.first_line;
  code.name.assign(text, head.name_bytes);
  code.file.assign(text + head.name_bytes, head.file_bytes);
  code.table.assign(text + head.name_bytes + head.file_bytes, head.line_table_bytes);
  probe().codes[head.id] = code;
  ++probe().records;
}

void drain() {
  for (uint32_t i = 0; i < GPUPROF_RING_COUNT; ++i) {
    gpuprof_ring& ring = probe().segment->rings[i];
    const uint8_t* data = reinterpret_cast<const uint8_t*>(probe().segment) + GPUPROF_SEGMENT_DATA_OFFSET +
                          size_t{i} * GPUPROF_RING_BYTES;
    while (ring.tail < ring.head) {
      gpuprof_record record = {};
      memcpy(&record, data + ring.tail % GPUPROF_RING_BYTES, sizeof(record));
      if (record.type == GPUPROF_RECORD_CODE) {
        take_code(data + ring.tail % GPUPROF_RING_BYTES);
      }
      ring.tail += record.bytes;
    }
  }
}

void add_hex(std::string* text, const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char byte : bytes) {
    text->push_back(kDigits[static_cast<uint8_t>(byte) >> 4U]);
    text->push_back(kDigits[static_cast<uint8_t>(byte) & 15U]);
  }
  text->append(bytes.empty() ? "-" : "");
}

void add_frame(std::string* text, const PythonFrame& frame) {
  const Code& code = probe().codes[GPUPROF_WORD_PYTHON_CODE(frame.word)];
  const auto* table = reinterpret_cast<const uint8_t*>(code.table.data());
  const uint32_t line = gpuprof::symbolize::python_line({code.version, code.first_line, {table, code.table.size()}},
                                                        GPUPROF_WORD_PYTHON_OFFSET(frame.word));
  add_hex(text, code.name);
  text->append(" ");
  add_hex(text, code.file);
  text->append(" " + std::to_string(line) + " " + std::to_string(frame.boundary) + "\n");
}

gpuprof_segment* segment() {
  Probe& state = probe();
  if (state.segment == nullptr) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* mapped = mmap(nullptr, GPUPROF_SEGMENT_BYTES, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    state.segment = static_cast<gpuprof_segment*>(mapped);
  }
  return state.segment;
}

std::mutex one_at_a_time;
gpuprof::injection::NearCodes near;

}  // namespace

// Stores the walk of this thread under a name. Each frame is a line, innermost first: name and file in hex, line,
// PythonFrame.boundary. The last line is "thread T truncated C stack A". T: 1 if the thread has a PyThreadState.
// C: 1 if frames are missing. A: an address in the stack frame of probe_walk().
extern "C" int probe_walk(const char* name, int careful) {
  const std::lock_guard lock(one_at_a_time);
  static PythonFrame frames[kMaxFrames];
  gpuprof::injection::find_python();
  const void* thread = gpuprof::injection::python_thread();
  PythonWalk walk = {frames, kMaxFrames, 0, 0, &near};
  gpuprof::injection::walk_python(segment(), gpuprof::injection::thread_state(), thread, careful != 0, &walk);
  drain();
  std::string text;
  for (uint32_t i = 0; i < walk.count; ++i) {
    add_frame(&text, frames[i]);
  }
  text += std::string("thread ") + (thread != nullptr ? "1" : "0") + " truncated " + std::to_string(walk.truncated) +
          " stack " + std::to_string(reinterpret_cast<uintptr_t>(&walk)) + "\n";
  probe().walks[name] = text;
  return 0;
}

extern "C" const char* probe_text(const char* name) {
  const auto found = probe().walks.find(name);
  return found == probe().walks.end() ? nullptr : found->second.c_str();
}

// Repeats python_thread() and a walk, to measure their cost. probe_threads() repeats only python_thread().
extern "C" void probe_repeat(int rounds) {
  static PythonFrame frames[kMaxFrames];
  for (int i = 0; i < rounds; ++i) {
    PythonWalk walk = {frames, kMaxFrames, 0, 0, &near};
    gpuprof::injection::walk_python(segment(), gpuprof::injection::thread_state(), gpuprof::injection::python_thread(),
                                    false, &walk);
  }
}

extern "C" void probe_threads(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const void* volatile thread = gpuprof::injection::python_thread();
    static_cast<void>(thread);
  }
}

extern "C" uint64_t probe_records() {
  return probe().records;
}

// Simulates a new recorder after the first one has gone.
extern "C" void probe_reset() {
  gpuprof::injection::reset_python();
  probe().codes.clear();
}

extern "C" uint32_t probe_version() {
  return gpuprof::injection::python_layout().version;
}

extern "C" uint32_t probe_flags() {
  return gpuprof::injection::python_layout().flags;
}
