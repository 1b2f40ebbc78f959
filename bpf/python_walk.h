/* Walks the Python frames of a thread (CPython 3.9 to 3.14), and sends the code objects that name them. */
#ifndef GPUPROF_PYTHON_WALK_H
#define GPUPROF_PYTHON_WALK_H

#include "walk.h"

/* Ids of the code objects that the recorder has received, by a hash of the object's identity. An evicted object gets
 * a new id at its next use, which is harmless. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 131072);
  __type(key, __u64);
  __type(value, __u32);
} codes SEC(".maps");

__u64 last_code_id = 0;

#define BOUNDARY_NOT_KNOWN 1  /* the next native frame in [eval_begin, eval_end) runs the pending frames */
#define BOUNDARY_NONE (~0ull) /* no native frame runs the pending frames (broken chain), so they come last */
#define OWNED_BY_GENERATOR 1
#define VERSION_3_13 0x030d0000

static __always_inline __u64 object_word(struct slot* slot, __u32 offset) {
  return offset <= OBJECT_BYTES - 8 ? *(__u64*)(slot->object + offset) : 0;
}

struct text {
  __u64 from;
  __u32 bytes; /* at most GPUPROF_BPF_CODE_TEXT */
  __u8 kind;
  __u8 cut;
};

static __always_inline void find_text(const struct gpuprof_python_layout* python, __u64 object, struct text* text) {
  __u64 length = 0;
  __u32 state = 0;
  text->from = 0;
  text->bytes = 0;
  text->kind = 1;
  text->cut = 0;
  if (read_user(&length, 8, object + python->text_length) != 0 ||
      read_user(&state, 4, object + python->text_state) != 0) {
    return;
  }
  __u32 bits = state >> (python->text_kind_shift & 31);
  __u32 kind = bits & 7;
  if (!(bits & 8) || (kind != 1 && kind != 2 && kind != 4)) {
    return; /* names and file names are always compact strings */
  }
  __u64 most = GPUPROF_BPF_CODE_TEXT / kind;
  text->cut = length > most;
  text->kind = kind;
  text->bytes = (length > most ? most : length) * kind;
  text->from = object + (bits & 16 ? python->text_ascii : python->text_wide);
}

struct lines_context {
  struct slot* slot;
  __u64 from;
  __u32 bytes;
  __u32 failed;
};

static long send_piece(__u32 index, struct lines_context* context) {
  struct gpuprof_bpf_lines* lines = &context->slot->lines;
  __u32 offset = index * GPUPROF_BPF_LINES_BYTES;
  if (offset >= context->bytes) {
    return 1;
  }
  __u32 count = context->bytes - offset;
  if (count > GPUPROF_BPF_LINES_BYTES) {
    count = GPUPROF_BPF_LINES_BYTES;
  }
  lines->offset = offset;
  lines->count = count;
  if (read_user(lines->bytes, count, context->from + offset) != 0) {
    /* The code event has announced these bytes, so zeros are sent in their place. */
    __builtin_memset(lines->bytes, 0, 16);
  }
  if (bpf_ringbuf_output(&events, lines, __builtin_offsetof(struct gpuprof_bpf_lines, bytes) + count,
                         BPF_RB_NO_WAKEUP) != 0) {
    context->failed = 1;
    return 1;
  }
  return 0;
}

/* Sends the code object whose beginning is in slot->object. Returns its id; 0: not sent. */
static __noinline __u32 send_code(struct slot* slot, __u64 name, __u64 file, __u64 line_table) {
  if (!slot) { /* needed by the verifier */
    return 0;
  }
  const struct gpuprof_python_layout* python = &slot->process.python;
  __u32 first_line = object_word(slot, python->code_first_line);
  __u32 id = (__u32)__sync_fetch_and_add(&last_code_id, 1) + 1;
  if (id >> 31) {
    return 0;
  }
  struct text text;
  struct gpuprof_bpf_code* code = &slot->code;
  code->type = GPUPROF_BPF_CODE;
  code->pid = slot->walk.pid;
  code->id = id;
  code->first_line = first_line;
  code->version = python->version;
  code->pad = 0;

  find_text(python, name, &text);
  __u32 name_bytes = text.bytes;
  if (name_bytes > GPUPROF_BPF_CODE_TEXT || read_user(code->bytes, name_bytes, text.from) != 0) {
    name_bytes = 0;
  }
  code->name_kind = text.kind;
  code->name_cut = text.cut;
  code->name_bytes = name_bytes;

  find_text(python, file, &text);
  __u32 file_bytes = text.bytes;
  if (file_bytes > GPUPROF_BPF_CODE_TEXT || read_user(code->bytes + name_bytes, file_bytes, text.from) != 0) {
    file_bytes = 0;
  }
  code->file_kind = text.kind;
  code->file_cut = text.cut;
  code->file_bytes = file_bytes;

  __u64 line_bytes = 0;
  if (read_user(&line_bytes, 8, line_table + python->bytes_size) != 0 || line_bytes > GPUPROF_BPF_LINES_MAX) {
    line_bytes = 0;
  }
  code->line_bytes = line_bytes;
  if (bpf_ringbuf_output(&events, code, __builtin_offsetof(struct gpuprof_bpf_code, bytes) + name_bytes + file_bytes,
                         BPF_RB_NO_WAKEUP) != 0) {
    return 0;
  }
  struct lines_context context = {slot, line_table + python->bytes_data, line_bytes, 0};
  slot->lines.type = GPUPROF_BPF_LINES; /* `slot->lines` overwrites the code event, which has been sent */
  slot->lines.pid = slot->walk.pid;
  slot->lines.id = id;
  slot->lines.pad = 0;
  bpf_loop(GPUPROF_BPF_LINES_MAX / GPUPROF_BPF_LINES_BYTES, send_piece, &context, 0);
  return context.failed ? 0 : id;
}

/* Hashes what distinguishes a code object from an earlier one at the same address. Since Python 3.12, code objects have
 * a version number. Without it, the hash covers the object's fields and the start of its line table, because code that
 * is compiled repeatedly (eval) reuses all memory. */
static __always_inline __u64 code_identity(struct slot* slot, __u64 code) {
  const struct gpuprof_python_layout* python = &slot->process.python;
  __u64 hash = mix(mix(code, slot->walk.pid), slot->process.image);
  __u32 at = python->code_version;
  __u32 version = at != GPUPROF_PYTHON_NONE ? (__u32)object_word(slot, at) : 0;
  if (version) {
    return mix(hash, version);
  }
  __u64 line_table = object_word(slot, python->code_line_table);
  __u64 words[6] = {};
  hash = mix(hash, object_word(
                       slot, python->code_qualname != GPUPROF_PYTHON_NONE ? python->code_qualname : python->code_name));
  hash = mix(mix(hash, object_word(slot, python->code_filename)), line_table);
  hash = mix(hash, (__u32)object_word(slot, python->code_first_line));
  /* Reads the size, the hash and the first bytes of the line table. */
  if (read_user(words, sizeof(words), line_table + python->bytes_size) == 0) {
    hash = mix(mix(mix(mix(mix(hash, words[0]), words[2]), words[3]), words[4]), words[5]);
  }
  return hash;
}

#define CODE_IS_NONE (-1) /* not a code object */
#define CODE_IS_BAD (-2)

/* Returns the id of a code object, or CODE_IS_*. Sends the object unless it is in `codes`. */
static __always_inline long code_id(struct slot* slot, __u64 code) {
  const struct gpuprof_python_layout* python = &slot->process.python;
  __u32 bytes = slot->process.code_bytes;
  if ((code & 7) || bytes > OBJECT_BYTES || read_user(slot->object, bytes, code) != 0) {
    return CODE_IS_BAD;
  }
  if (object_word(slot, python->code_type_field) != python->code_type) {
    return CODE_IS_NONE;
  }
  __u64 identity = code_identity(slot, code);
  __u32* known = bpf_map_lookup_elem(&codes, &identity);
  if (known) {
    return *known;
  }
  __u64 name =
      object_word(slot, python->code_qualname != GPUPROF_PYTHON_NONE ? python->code_qualname : python->code_name);
  __u32 id =
      send_code(slot, name, object_word(slot, python->code_filename), object_word(slot, python->code_line_table));
  if (id == 0) {
    slot->walk.unsent = 1;
    return 0;
  }
  bpf_map_update_elem(&codes, &identity, &id, BPF_ANY);
  return id;
}

/* Reads the Python frame at walk->frame, and the memory below it, which contains the frames of its callers. */
static __always_inline long load_frames(struct slot* slot) {
  struct walk* walk = &slot->walk;
  __u64 frame = walk->frame;
  __u64 bytes = slot->process.frame_bytes;
  if (frame >= walk->frames_begin && frame + bytes <= walk->frames_end) {
    return 0;
  }
  __u64 end = frame + bytes;
  __u64 begin = frame & ~(__u64)(PAGE_BYTES - 1); /* does not extend into the page below, which may not be mapped */
  if (end - begin > WINDOW_BYTES) {
    begin = end - WINDOW_BYTES;
  }
  bytes = end - begin;
  if (bytes > WINDOW_BYTES || read_user(slot->frames, bytes, begin) != 0) {
    return -1;
  }
  walk->frames_begin = begin;
  walk->frames_end = end;
  return 0;
}

/* Returns a field of the frame that load_frames() has read. */
static __always_inline __u64 frame_word(struct slot* slot, __u32 offset) {
  __u64 at = slot->walk.frame - slot->walk.frames_begin + offset;
  return at <= WINDOW_BYTES - 8 ? *(__u64*)(slot->frames + at) : 0;
}

static __always_inline __u8 frame_byte(struct slot* slot, __u32 offset) {
  __u64 at = slot->walk.frame - slot->walk.frames_begin + offset;
  return at <= WINDOW_BYTES - 1 ? slot->frames[at] : 0;
}

/* Returns the byte offset of the frame's instruction. -1: the frame has not started, so it is ignored. */
static __always_inline long instruction_offset(struct slot* slot, __u64 code) {
  const struct gpuprof_python_layout* python = &slot->process.python;
  __u64 instruction = frame_word(slot, python->frame_instruction);
  if (python->instruction_unit != 0) {
    __s32 index = (__s32)instruction;
    return index < 0 ? 0xffffffffll : (__u32)index * python->instruction_unit;
  }
  __s64 offset = instruction - (code + python->code_start);
  __s64 first = 2 * (__s64)(__s32)object_word(slot, python->code_first_traceable);
  if (offset < first && frame_byte(slot, python->frame_owner) != OWNED_BY_GENERATOR) {
    return -1;
  }
  return offset < 0 || offset > 0x7fffffff ? 0xffffffffll : offset;
}

/* Ends a run of Python frames. `boundary`: an address inside the native frame that runs them; 0: unknown. */
static __always_inline void end_run(struct slot* slot, __u64 boundary) {
  struct walk* walk = &slot->walk;
  walk->boundary = boundary ? boundary : BOUNDARY_NOT_KNOWN;
  walk->mode = WALK_NATIVE;
}

/* Ends a run at its CFrame (Python 3.10 and 3.11). A CFrame lies in the C frame of the evaluation loop, and links to
 * the CFrame of the outer run. */
static __always_inline void end_run_at_cframe(struct slot* slot) {
  struct walk* walk = &slot->walk;
  __u64 cframe = walk->cframe;
  __u64 previous = 0;
  if (walk->run > 0) {
    end_run(slot, cframe);
  }
  if (cframe && read_user(&previous, 8, cframe + slot->process.python.cframe_previous) != 0) {
    previous = 0;
  }
  walk->cframe = previous;
}

/* Ends the chain of Python frames. If frames are still pending, no native frame runs them, so they come last. */
static __always_inline long end_python(struct slot* slot, __u32 flags) {
  struct walk* walk = &slot->walk;
  walk->frame = 0;
  walk->mode = WALK_NATIVE;
  slot->stack.flags |= flags;
  if (walk->run > 0 && walk->boundary == 0) {
    walk->boundary = BOUNDARY_NONE;
  }
  return 0;
}

static __always_inline long step_python(struct slot* slot) {
  struct walk* walk = &slot->walk;
  const struct gpuprof_python_layout* python = &slot->process.python;
  if (walk->frame == 0) {
    return end_python(slot, 0);
  }
  if (load_frames(slot) != 0) {
    return end_python(slot, GPUPROF_STACK_TRUNCATED);
  }
  __u64 frame = walk->frame;
  __u64 previous = frame_word(slot, python->frame_previous);
  __u8 boundary = python->boundary == GPUPROF_PYTHON_EACH ? 0 : frame_byte(slot, python->frame_boundary);
  if (python->boundary == GPUPROF_PYTHON_SHIM && boundary >= python->shim_owner) {
    if (walk->run > 0) {
      end_run(slot, frame);
    }
    walk->frame = previous;
    return 0;
  }
  __u64 code = frame_word(slot, python->frame_code);
  if (python->code_tagged) {
    code &= ~7ull;
  }
  long id = code_id(slot, code);
  if (id == CODE_IS_BAD || (id == CODE_IS_NONE && python->version < VERSION_3_13)) {
    return end_python(slot, GPUPROF_STACK_TRUNCATED);
  }
  long offset = id < 0 ? -1 : instruction_offset(slot, code);
  if (offset >= 0) {
    __u32 run = walk->run;
    if (run >= WORDS) {
      return end_python(slot, GPUPROF_STACK_TRUNCATED);
    }
    slot->run[run] = GPUPROF_WORD_OF_PYTHON(id, offset);
    walk->run = run + 1;
  }
  if (python->boundary == GPUPROF_PYTHON_EACH || (python->boundary == GPUPROF_PYTHON_IS_ENTRY && boundary)) {
    end_run_at_cframe(slot);
  }
  walk->frame = previous;
  return 0;
}

/* Finds the innermost Python frame of the thread. `thread`: address of its PyThreadState. */
static __always_inline void begin_python(struct slot* slot, __u64 thread) {
  struct walk* walk = &slot->walk;
  const struct gpuprof_python_layout* python = &slot->process.python;
  if (python->version == 0 || (python->flags & GPUPROF_PYTHON_REFUSED)) {
    return;
  }
  __u64 cframe = 0;
  __u64 frame = 0;
  long bad = 0;
  if (thread) {
    if (python->tstate_cframe != GPUPROF_PYTHON_NONE) {
      bad = read_user(&cframe, 8, thread + python->tstate_cframe);
    }
    __u64 at = thread + python->tstate_frame;
    if (python->cframe_frame != GPUPROF_PYTHON_NONE) {
      at = cframe + python->cframe_frame;
    }
    bad |= read_user(&frame, 8, at);
  }
  if (frame == 0) {
    slot->stack.flags |= thread && bad ? GPUPROF_STACK_TRUNCATED : GPUPROF_STACK_NO_PYTHON;
    return;
  }
  walk->frame = frame;
  walk->cframe = cframe;
  walk->mode = WALK_PYTHON;
}

#endif
