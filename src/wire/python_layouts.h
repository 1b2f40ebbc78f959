// Offsets of the CPython fields that a stack walk needs, for each Python version. The injection library uses them
// inside a process, and the recorder outside. Uses only memory functions of libc, and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/stack.h"

namespace gpuprof {

// Offsets in bytes. Stack walks use `wire`. The others are only for finding the state of a thread.
struct PythonLayout {
  gpuprof_python_layout wire;
  uint16_t thread_ident;         // offset of the thread's pthread_self() in the thread state
  uint16_t thread_next;          // offset of the pointer to the interpreter's next thread state
  uint16_t thread_interpreter;   // offset of the pointer to the thread state's interpreter
  uint16_t runtime_interpreter;  // offset of the pointer to the main interpreter in _PyRuntime; 0: unknown
  uint16_t interpreter_threads;  // offset of the pointer to an interpreter's first thread state; 0: unknown
};

inline constexpr size_t kPythonRuntimeBytes = 81 * sizeof(uint64_t);

namespace python_layouts {

inline constexpr uint16_t kNone = GPUPROF_PYTHON_NONE;
inline constexpr uint32_t kMinor = 16;  // PY_VERSION_HEX >> kMinor is the major and minor version

// Offsets that are the same from 3.9 to 3.14: in the headers of objects, and in bytes and str objects before their
// characters.
inline constexpr PythonLayout kCommon = {
    .wire =
        {
            .version = 0,
            .flags = 0,
            .code_type = 0,
            .eval_begin = 0,
            .eval_end = 0,
            .tstate_frame = kNone,
            .cframe_frame = kNone,
            .cframe_previous = kNone,
            .tstate_cframe = kNone,
            .frame_previous = kNone,
            .frame_code = kNone,
            .frame_instruction = kNone,
            .frame_boundary = kNone,
            .boundary = GPUPROF_PYTHON_EACH,
            .shim_owner = 0,
            .instruction_unit = 0,
            .code_tagged = 0,
            .code_type_field = 8,
            .code_start = kNone,
            .code_name = 112,
            .code_qualname = kNone,
            .code_filename = 104,
            .code_first_line = 40,
            .code_line_table = 120,
            .bytes_size = 16,
            .bytes_data = 32,
            .text_length = 16,
            .text_state = 32,
            .text_ascii = 48,
            .text_wide = 72,
            .frame_owner = kNone,
            .code_first_traceable = kNone,
            .code_version = kNone,
            .text_kind_shift = 2,
            .pad = {},
        },
    .thread_ident = 176,
    .thread_next = 8,
    .thread_interpreter = 16,
    .runtime_interpreter = 40,
    .interpreter_threads = 0,
};

// In 3.9, a frame is an object, and each frame has its own evaluation loop. The thread state points to the innermost
// frame.
inline constexpr PythonLayout layout_3_9() {
  PythonLayout layout = kCommon;
  layout.wire.tstate_frame = 24;
  layout.wire.frame_previous = 24;
  layout.wire.frame_code = 32;
  layout.wire.frame_instruction = 104;
  layout.wire.instruction_unit = 1;
  return layout;
}

// In 3.10, each evaluation loop has a CFrame on the C stack.
inline constexpr PythonLayout layout_3_10() {
  PythonLayout layout = layout_3_9();
  layout.wire.tstate_cframe = 48;
  layout.wire.cframe_previous = 8;
  layout.wire.frame_instruction = 96;
  layout.wire.instruction_unit = 2;
  return layout;
}

// In 3.11, one evaluation loop can run several frames, and frames are not objects.
inline constexpr PythonLayout layout_3_11() {
  PythonLayout layout = kCommon;
  layout.wire.tstate_cframe = 56;
  layout.wire.cframe_frame = 8;
  layout.wire.cframe_previous = 16;
  layout.wire.frame_previous = 48;
  layout.wire.frame_code = 32;
  layout.wire.frame_instruction = 56;
  layout.wire.frame_boundary = 68;
  layout.wire.boundary = GPUPROF_PYTHON_IS_ENTRY;
  layout.wire.code_start = 184;
  layout.wire.code_name = 120;
  layout.wire.code_qualname = 128;
  layout.wire.code_filename = 112;
  layout.wire.code_first_line = 72;
  layout.wire.code_line_table = 136;
  layout.thread_ident = 152;
  layout.runtime_interpreter = 48;
  layout.wire.frame_owner = 69;
  layout.wire.code_first_traceable = 168;
  return layout;
}

// In 3.12, the frames of each evaluation loop end with a shim frame. It is on the C stack, and is not a Python frame.
inline constexpr PythonLayout layout_3_12() {
  PythonLayout layout = layout_3_11();
  layout.wire.cframe_frame = 0;
  layout.wire.cframe_previous = kNone;
  layout.wire.frame_previous = 8;
  layout.wire.frame_code = 0;
  layout.wire.frame_boundary = 70;
  layout.wire.boundary = GPUPROF_PYTHON_SHIM;
  layout.wire.shim_owner = 3;
  layout.wire.code_start = 192;
  layout.wire.code_first_line = 68;
  layout.wire.text_ascii = 40;
  layout.wire.text_wide = 56;
  layout.thread_ident = 136;
  layout.wire.frame_owner = 70;
  layout.wire.code_first_traceable = 176;
  layout.wire.code_version = 92;
  return layout;
}

inline constexpr PythonLayout layout_3_13() {
  PythonLayout layout = layout_3_12();
  layout.wire.tstate_cframe = kNone;
  layout.wire.cframe_frame = kNone;
  layout.wire.tstate_frame = 72;
  layout.wire.code_start = 200;
  layout.thread_ident = 152;
  layout.wire.code_first_traceable = 184;
  return layout;
}

inline constexpr PythonLayout layout_3_14() {
  PythonLayout layout = layout_3_13();
  layout.wire.code_tagged = 1;
  layout.wire.code_start = 208;
  layout.wire.code_first_traceable = 192;
  layout.wire.code_version = kNone;  // describe() sets it
  return layout;
}

// Positions of groups in _Py_DebugOffsets, counted in 64-bit numbers. A cookie precedes the groups. Each group begins
// with the size of the structure that it describes.
struct DebugOffsets {
  // Fields: size, finalizing, interpreters (the first one, then the main one).
  uint32_t runtime;
  uint32_t interpreter;   // fields: size, id, next, threads
  uint32_t thread_state;  // fields: size, prev, next, interp, current_frame, thread_id, ...
  uint32_t frame;         // fields: size, previous, executable, instr_ptr, localsplus, owner, ...
  // Fields: size, filename, name, qualname, linetable, firstlineno, argcount, 2 more, co_code_adaptive.
  uint32_t code;
  uint32_t object;  // fields: size, ob_type
  uint32_t bytes;   // fields: size, ob_size, ob_sval
  uint32_t text;    // fields: size, state, length, asciiobject_size
};
inline constexpr DebugOffsets kOffsets3_13 = {3, 6, 19, 28, 34, 44, 64, 67};
inline constexpr DebugOffsets kOffsets3_14 = {3, 6, 22, 31, 39, 50, 74, 77};
inline constexpr uint32_t kVersionNumber = 1;
inline constexpr uint32_t kFreeThreadedNumber = 2;
inline constexpr uint32_t kNumbers = kPythonRuntimeBytes / sizeof(uint64_t);
inline constexpr char kCookie[] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

// Reads the offset of one field. Returns false if the field is not inside its structure.
inline bool take(const uint64_t* group, uint32_t index, uint32_t bytes, uint16_t* to) {
  constexpr uint64_t kMaxStructure = 1U << 20U;
  const uint64_t offset = group[index];
  if (group[0] > kMaxStructure || offset >= kNone || offset + bytes > group[0]) {
    return false;
  }
  *to = static_cast<uint16_t>(offset);
  return true;
}

// Reads the offsets that the recorder needs to find the state of a thread from outside the process.
inline void take_threads(const uint64_t* numbers, const DebugOffsets& at, PythonLayout* layout) {
  const uint64_t* thread = numbers + at.thread_state;
  uint16_t first = 0;  // offset of two pointers; the second one points to the main interpreter
  if (take(numbers + at.runtime, 2, 16, &first) && take(numbers + at.interpreter, 3, 8, &layout->interpreter_threads) &&
      take(thread, 2, 8, &layout->thread_next) && take(thread, 3, 8, &layout->thread_interpreter)) {
    layout->runtime_interpreter = static_cast<uint16_t>(first + sizeof(uint64_t));
  } else {
    layout->runtime_interpreter = 0;
  }
}

inline bool take_offsets(const uint64_t* numbers, const DebugOffsets& at, PythonLayout* layout) {
  gpuprof_python_layout& wire = layout->wire;
  const uint64_t* thread = numbers + at.thread_state;
  const uint64_t* frame = numbers + at.frame;
  const uint64_t* code = numbers + at.code;
  const uint64_t* text = numbers + at.text;
  bool good = take(thread, 4, 8, &wire.tstate_frame) && take(thread, 5, 8, &layout->thread_ident) &&
              take(frame, 1, 8, &wire.frame_previous) && take(frame, 2, 8, &wire.frame_code) &&
              take(frame, 3, 8, &wire.frame_instruction) && take(frame, 5, 1, &wire.frame_boundary) &&
              take(code, 1, 8, &wire.code_filename) && take(code, 2, 8, &wire.code_name) &&
              take(code, 3, 8, &wire.code_qualname) && take(code, 4, 8, &wire.code_line_table) &&
              take(code, 5, 4, &wire.code_first_line) && take(code, 9, 1, &wire.code_start) &&
              take(numbers + at.object, 1, 8, &wire.code_type_field) &&
              take(numbers + at.bytes, 1, 8, &wire.bytes_size) && take(numbers + at.bytes, 2, 1, &wire.bytes_data) &&
              take(text, 1, 4, &wire.text_state) && take(text, 2, 8, &wire.text_length);
  if (!good || text[3] >= text[0] || text[3] >= kNone) {
    return false;
  }
  // The characters of a compact ASCII string follow its header. Other compact strings have a header that is two words
  // longer.
  wire.text_ascii = static_cast<uint16_t>(text[3]);
  wire.text_wide = static_cast<uint16_t>(text[3] + 16);
  wire.frame_owner = wire.frame_boundary;
  // This int comes before a pointer, which comes before the code.
  wire.code_first_traceable = static_cast<uint16_t>(wire.code_start - 16);
  wire.code_version = static_cast<uint16_t>(wire.code_first_line + 6 * 4);  // the sixth int after code_first_line
  take_threads(numbers, at, layout);
  return true;
}

// Takes the offsets from _Py_DebugOffsets of the interpreter. Returns null, or the reason why they cannot be used.
inline const char* describe(uint32_t version, const void* runtime, PythonLayout* layout) {
  if (runtime == nullptr || memcmp(runtime, kCookie, sizeof(kCookie)) != 0) {
    return "the interpreter does not describe its structures";
  }
  uint64_t numbers[kNumbers] = {};
  memcpy(numbers, runtime, sizeof(numbers));
  if (numbers[kFreeThreadedNumber] != 0) {
    return "a free-threaded build";
  }
  if (numbers[kVersionNumber] >> kMinor != version >> kMinor) {
    return "the interpreter describes the structures of another version";
  }
  const bool old = version >> kMinor == 0x030dU;
  if (!take_offsets(numbers, old ? kOffsets3_13 : kOffsets3_14, layout)) {
    return "the interpreter describes its structures in an unknown way";
  }
  return nullptr;
}

}  // namespace python_layouts

// Fills in the layout for a version (PY_VERSION_HEX). `runtime` is the address of _PyRuntime, which describes the
// layout since 3.13. Returns null, or the reason why gpuprof does not support the interpreter.
inline const char* layout_of_python(uint32_t version, const void* runtime, PythonLayout* layout) {
  const char* refused = nullptr;
  *layout = python_layouts::kCommon;
  switch (version >> python_layouts::kMinor) {
    case 0x0309U:
      *layout = python_layouts::layout_3_9();
      break;
    case 0x030aU:
      *layout = python_layouts::layout_3_10();
      break;
    case 0x030bU:
      *layout = python_layouts::layout_3_11();
      break;
    case 0x030cU:
      *layout = python_layouts::layout_3_12();
      break;
    case 0x030dU:
      *layout = python_layouts::layout_3_13();
      refused = python_layouts::describe(version, runtime, layout);
      break;
    case 0x030eU:
      *layout = python_layouts::layout_3_14();
      refused = python_layouts::describe(version, runtime, layout);
      break;
    default:
      refused = "gpuprof supports only versions 3.9 to 3.14";
  }
  layout->wire.version = version;
  layout->wire.flags = refused != nullptr ? GPUPROF_PYTHON_REFUSED : 0U;
  return refused;
}

}  // namespace gpuprof
