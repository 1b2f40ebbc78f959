/*
 * Finds GPU kernels in the command batches that xe and i915 receive. A submission gives the batch's address in a GPU
 * VM. These programs read the batch if the process has mapped its memory. An xe batch that is incomplete when it is
 * submitted is read again in later xe ioctls of the process.
 *
 * Include after gpu_bindings.h.
 */
#ifndef GPUPROF_BATCH_BUFFERS_H
#define GPUPROF_BATCH_BUFFERS_H

#include "wire/batch_scan.h"

#define DEFERRED 256              /* deferred batches of all processes together */
#define DEFERRED_OF_FILE 16       /* deferred batches of one file */
#define MAX_READS 64              /* A batch is read at most this many times. */
#define MAX_AGE_NS 10000000000ull /* A new batch may take the slot of a deferred batch that is older than this. */
#define LISTED_OBJECTS 1024       /* limit on the object list of a batch */

struct batch {
  struct gpuprof_drm_batch event;
  struct gpuprof_batch_scan scan;
  __u64 address;
  __u64 page; /* the GPU page of the last lookup */
  __u64 to;   /* address of `page` in the process; 0: unknown */
  __u64 list; /* i915: user address of the call's object list, which gives the objects' GPU addresses; xe: 0 */
  __u64 since_ns;
  __u32 listed;
  __u32 reads;
  /* The first dwords of one command. They are stored here because the BPF stack is too small. The second half is for
   * the verifier, which cannot see that the parts of a window in two pages fit into the first half. */
  __u32 words[2 * GPUPROF_BATCH_WINDOW];
};
/* A thread must change a slot's state to DEFERRED_BUSY before it accesses the slot's batch. It then owns the slot. */
enum deferred_state { DEFERRED_FREE = 0, DEFERRED_BUSY = 1, DEFERRED_WAITS = 2 };
struct deferred {
  __u32 state;
  __u32 pad;
  struct batch batch;
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, DEFERRED);
  __type(key, __u32);
  __type(value, struct deferred);
} deferred SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, __u64); /* thread */
  __type(value, struct batch);
} batches SEC(".maps");
/* Batches are initialized by copying this zeroed batch, because struct batch is too large for a BPF program's stack. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct batch);
} no_batch SEC(".maps");

/* struct drm_i915_gem_exec_object2 of i915's interface. */
struct i915_object {
  __u32 handle;
  __u32 relocations_count;
  __u64 relocations;
  __u64 alignment;
  __u64 address;
  __u64 flags;
  __u64 reserved[2];
};

struct listed_context {
  __u64 file;
  __u64 address;
  __u64 list;
  __u64 found;
  __u32 listed;
  __u32 pad;
};

static long find_listed(__u32 index, struct listed_context* context) {
  const struct i915_object* object = (const struct i915_object*)context->list + index;
  __u64 begin;
  __u32 handle;
  if (index >= context->listed || bpf_probe_read_kernel(&begin, sizeof(begin), &object->address) != 0 ||
      bpf_probe_read_kernel(&handle, sizeof(handle), &object->handle) != 0) {
    return 1;
  }
  /* GPU addresses are sign-extended from bit 47 (canonical form). The mask drops the bits above. The driver may have
   * set flags in the low bits of an object's address. */
  __u64 into = (context->address - (begin & ~IN_PAGE)) & 0xffffffffffffull;
  __u64 number = object_number(context->file, handle, 0);
  const struct object_memory* memory = number ? bpf_map_lookup_elem(&object_memories, &number) : 0;
  if (!memory || into >= memory->bytes) {
    return 0;
  }
  context->found = memory->begin + into;
  return 1;
}

static __always_inline __u64 address_in_process(struct batch* batch, __u64 address) {
  __u64 in_page = address & IN_PAGE;
  if (batch->to && batch->page == address - in_page) {
    return batch->to + in_page;
  }
  __u64 found;
  if (batch->list) {
    struct listed_context context = {batch->event.file, address, batch->list, 0, batch->listed, 0};
    bpf_loop(LISTED_OBJECTS, find_listed, &context, 0);
    found = context.found;
  } else {
    found = user_address(batch->event.file, batch->event.vm, address);
  }
  batch->page = address - in_page;
  batch->to = found ? found - in_page : 0;
  return found;
}

/* The dynamic state base address that the last batch of an exec queue or context has set. */
struct dynamic_key {
  __u64 file;
  __u64 queue;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, struct dynamic_key);
  __type(value, __u64);
} dynamic_bases SEC(".maps");

struct batch_context {
  struct batch* batch;
};

/* Reads the window at a GPU address. Returns the number of dwords that could be read. Pages that follow each other in
 * the VM may be anywhere in the process. */
static __always_inline __u32 read_window(struct batch* batch, __u64 address) {
  __u32 bytes = sizeof(batch->words) / 2;
  __u32 in_page = (1u << PAGE_BITS) - ((__u32)address & ((1u << PAGE_BITS) - 1));
  __u32 first = in_page < bytes ? in_page : bytes;
  __builtin_memset(batch->words, 0, sizeof(batch->words));
  __u64 from = address_in_process(batch, address);
  barrier_var(first);
  if (!from || first > bytes || bpf_probe_read_user(batch->words, first, (const void*)from) != 0) {
    return 0;
  }
  __u32 rest = bytes - first;
  if (!rest) {
    return bytes / 4;
  }
  from = address_in_process(batch, address + first);
  barrier_var(rest);
  barrier_var(first);
  if (!from || rest > bytes || first > bytes ||
      bpf_probe_read_user((char*)batch->words + first, rest, (const void*)from) != 0) {
    return first / 4;
  }
  return bytes / 4;
}

static long scan_command(__u32 index, struct batch_context* context) {
  struct batch* batch = context->batch;
  struct gpuprof_batch_scan* scan = &batch->scan;
  __u32 count = read_window(batch, gpuprof_batch_next(scan));
  if (count) {
    gpuprof_batch_step(scan, batch->words, count);
  } else {
    gpuprof_batch_unreadable(scan);
  }
  return scan->state != GPUPROF_BATCH_RUNS;
}

/* Reads the batch from its start and sends the kernels that it found. Returns 1 if the batch needs no further read. */
static __noinline int read_batch(struct batch* batch) {
  if (!batch) {
    return 1;
  }
  /* Two calls, because clang turns each of them into plain stores. It would not do so for the complete struct. */
  __builtin_memset(&batch->scan, 0, __builtin_offsetof(struct gpuprof_batch_scan, recent));
  barrier_var(batch);
  __builtin_memset(batch->scan.recent, 0, sizeof(batch->scan.recent));
  batch->scan.at = batch->address;
  batch->to = 0;
  struct dynamic_key queue = {batch->event.file, batch->event.queue};
  const __u64* dynamic = bpf_map_lookup_elem(&dynamic_bases, &queue);
  batch->scan.dynamic = dynamic ? *dynamic : 0;
  struct batch_context context = {batch};
  bpf_loop(GPUPROF_BATCH_COMMANDS, scan_command, &context, 0);
  if (batch->scan.dynamic && (!dynamic || *dynamic != batch->scan.dynamic)) {
    bpf_map_update_elem(&dynamic_bases, &queue, &batch->scan.dynamic, BPF_ANY);
  }
  int written = batch->scan.state != GPUPROF_BATCH_UNWRITTEN && batch->scan.state != GPUPROF_BATCH_UNKNOWN;
  if (!written && batch->reads > 0 && batch->reads < MAX_READS) {
    return 0; /* the first read has already sent the incomplete batch */
  }
  batch->event.base = batch->scan.base;
  batch->event.state = batch->scan.state;
  batch->event.count = batch->scan.count;
  batch->event.unknown = batch->scan.unknown;
  __builtin_memcpy(batch->event.starts, batch->scan.starts, sizeof(batch->event.starts));
  if (bpf_ringbuf_output(&events, &batch->event, sizeof(batch->event), BPF_RB_NO_WAKEUP) != 0) {
    if (batch->list) {
      count_job(GPUPROF_DRM_LOST_BATCHES); /* only i915 loses the batch; an xe batch is deferred and sent later */
    }
    return 0;
  }
  return written;
}

/* A file's slots start at a hash of the file's number. Several files may share slots. */
static __always_inline __u32 first_place(__u64 file) {
  return (__u32)(mix(file, 0) >> 32);
}

static __always_inline struct deferred* place_of(__u64 file, __u32 index) {
  __u32 place = (first_place(file) + index) % DEFERRED;
  return bpf_map_lookup_elem(&deferred, &place);
}

static __always_inline int change_state(struct deferred* place, __u32 from, __u32 to) {
  return __sync_val_compare_and_swap(&place->state, from, to) == from;
}

struct again_context {
  __u64 file;
  __u64 closed;
};

static long reread(__u32 index, struct again_context* context) {
  struct deferred* place = place_of(context->file, index);
  if (!place || !change_state(place, DEFERRED_WAITS, DEFERRED_BUSY)) {
    return 0;
  }
  __u32 next = DEFERRED_WAITS;
  if (place->batch.event.file == context->file) {
    ++place->batch.reads;
    int given_up = context->closed || place->batch.reads > MAX_READS;
    if (given_up) {
      count_job(GPUPROF_DRM_GIVEN_UP);
    }
    if (given_up || read_batch(&place->batch)) {
      next = DEFERRED_FREE;
    }
  }
  change_state(place, DEFERRED_BUSY, next);
  return 0;
}

/* Reads the file's deferred batches again. Call it in the context of the process that submitted the batches. */
static __always_inline void reread_deferred(__u64 file) {
  struct again_context context = {file, 0};
  bpf_loop(DEFERRED_OF_FILE, reread, &context, 0);
}

/* Drops the deferred batches of a file that is being closed, and counts them as given up. */
static __always_inline void forget_deferred(__u64 file) {
  struct again_context context = {file, 1};
  bpf_loop(DEFERRED_OF_FILE, reread, &context, 0);
}

struct defer_context {
  struct batch* batch;
  __u64 done;
};

static long defer_here(__u32 index, struct defer_context* context) {
  struct deferred* place = place_of(context->batch->event.file, index);
  if (!place) {
    return 0;
  }
  if (!change_state(place, DEFERRED_FREE, DEFERRED_BUSY)) {
    if (!change_state(place, DEFERRED_WAITS, DEFERRED_BUSY)) {
      return 0;
    }
    if (context->batch->since_ns - place->batch.since_ns < MAX_AGE_NS) {
      change_state(place, DEFERRED_BUSY, DEFERRED_WAITS);
      return 0;
    }
    count_job(GPUPROF_DRM_GIVEN_UP); /* the replaced batch was never completed */
  }
  bpf_probe_read_kernel(&place->batch, sizeof(place->batch), context->batch);
  change_state(place, DEFERRED_BUSY, DEFERRED_WAITS);
  context->done = 1;
  return 1;
}

static __always_inline void defer(struct batch* batch) {
  struct defer_context context = {batch, 0};
  batch->reads = 1;
  bpf_loop(DEFERRED_OF_FILE, defer_here, &context, 0);
  if (!context.done) {
    count_job(GPUPROF_DRM_GIVEN_UP);
  }
}

struct handed {
  __u64 id;
  __u64 file;
  __u64 address;
  __u64 list;
  __u32 listed;
  __u32 vm;
  __u32 queue;
};

static __always_inline __u64 new_batch_id(void) {
  return mix(bpf_get_current_pid_tgid(), bpf_ktime_get_ns()) | 1;
}

/* Reads a submitted batch. Returns the id of its event; 0: not read. Call it in the submitting thread's context. */
static __always_inline __u64 take_batch(const struct handed* handed) {
  __u64 thread = bpf_get_current_pid_tgid();
  __u32 first = 0;
  const struct batch* none = bpf_map_lookup_elem(&no_batch, &first);
  if (!none) {
    return 0;
  }
  bpf_map_update_elem(&batches, &thread, none, BPF_ANY);
  struct batch* batch = bpf_map_lookup_elem(&batches, &thread);
  if (!batch) {
    count_job(GPUPROF_DRM_LOST_BATCHES);
    return 0;
  }
  batch->since_ns = bpf_ktime_get_ns();
  batch->event.type = GPUPROF_DRM_BATCH;
  batch->event.id = handed->id;
  batch->event.file = handed->file;
  batch->event.vm = handed->vm;
  batch->event.queue = handed->queue;
  batch->address = handed->address;
  batch->list = handed->list;
  batch->listed = handed->listed;
  int finished = read_batch(batch);
  if (!finished && !batch->list) {
    defer(batch);
  } else if (!finished && batch->scan.state != GPUPROF_BATCH_ENDED && batch->scan.state != GPUPROF_BATCH_CUT) {
    count_job(GPUPROF_DRM_GIVEN_UP); /* i915 batches are not deferred, because they must be complete when submitted */
  }
  bpf_map_delete_elem(&batches, &thread);
  return handed->id;
}

#endif
