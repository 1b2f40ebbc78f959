/*
 * Kernels of the batches that xe is handed, by the commands in them. A batch is named by an address in a VM of the GPU:
 * VM binds are followed, and where user space has mapped what is bound, as it reads and writes it there. Batches that
 * are not complete when they are handed over are looked at again when the process calls xe the next times.
 *
 * Include after drm_submission.h and submitter.h.
 */
#ifndef GPUPROF_BATCH_BUFFERS_H
#define GPUPROF_BATCH_BUFFERS_H

#include "wire/batch_scan.h"

#define BINDING_BLOCKS 96 /* most that a range of addresses is made of, each a power of two and aligned */
#define MAX_BINDS 64      /* of one call */
#define DEFERRED 4        /* batches of a process that are looked at again, ... */
#define MAX_LOOKS 64      /* ... at most so many times */

/* As in the kernel's interface, which does not change. */
struct xe_bind_op {
  __u64 extensions;
  __u32 object;
  __u32 caching;
  __u64 offset; /* in the object, or what of user space is bound */
  __u64 range;
  __u64 address;
  __u32 op;
  __u32 flags;
  __u64 reserved[4];
};
struct xe_bind {
  __u64 extensions;
  __u32 vm;
  __u32 exec_queue;
  __u32 pad;
  __u32 count;
  struct xe_bind_op bind; /* where there are several: its first 8 bytes are their address */
};
struct xe_mmap_offset {
  __u64 extensions;
  __u32 object;
  __u32 flags;
  __u64 offset;
};
struct xe_exec {
  __u64 extensions;
  __u32 exec_queue;
  __u32 syncs_count;
  __u64 syncs;
  __u64 address;
  __u16 batches;
};
enum { XE_BIND_MAP = 0, XE_BIND_UNMAP = 1, XE_BIND_USER = 2, XE_BIND_UNMAP_ALL = 3 };

/* The longest prefix is the smallest block. */
struct binding_key {
  __u32 prefix; /* bits */
  __u32 vm;
  __u64 file;
  __u64 address; /* big-endian */
};
#define BINDING_PREFIX_BITS 160
struct binding {
  __u64 to; /* what address 0 would be, by that of the block: in user space, or with an object the offset in it */
  __u32 object;
  __u32 pad;
};
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, struct binding_key);
  __type(value, struct binding);
} bindings SEC(".maps");

struct object_key {
  __u64 file;
  __u64 what; /* number of the object, or the offset by which it can be mapped */
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct object_key);
  __type(value, __u32); /* the object */
} object_offsets SEC(".maps");

struct object_memory {
  __u64 begin; /* in user space */
  __u64 bytes;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct object_key);
  __type(value, struct object_memory);
} object_memories SEC(".maps");

/* A batch that is looked at. */
struct batch {
  struct gpuprof_drm_batch event;
  struct gpuprof_batch_scan scan;
  __u64 address;
  __u32 looks;
  __u32 pad;
};
struct deferred_key {
  __u64 file;
  __u32 slot;
  __u32 pad;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, struct deferred_key);
  __type(value, struct batch);
} deferred SEC(".maps");
/* By thread. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, __u64);
  __type(value, struct batch);
} batches SEC(".maps");
/* All zero, and too large for a program's stack. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct batch);
} no_batch SEC(".maps");

static __always_inline __u32 log2_of(__u64 power) {
  __u32 log = (power & 0xaaaaaaaaaaaaaaaaull) != 0;
  log |= (__u32)((power & 0xccccccccccccccccull) != 0) << 1;
  log |= (__u32)((power & 0xf0f0f0f0f0f0f0f0ull) != 0) << 2;
  log |= (__u32)((power & 0xff00ff00ff00ff00ull) != 0) << 3;
  log |= (__u32)((power & 0xffff0000ffff0000ull) != 0) << 4;
  log |= (__u32)((power & 0xffffffff00000000ull) != 0) << 5;
  return log;
}

struct bind_context {
  __u64 file;
  __u64 at;
  __u64 left;
  __u64 to;
  __u32 vm;
  __u32 object;
  __u32 remove;
  __u32 pad;
};

/* The largest block that begins here and fits. */
static long bind_block(__u32 index, struct bind_context* context) {
  __u64 lowest = context->at & -context->at;
  __u64 size = context->left;
  if (!size) {
    return 1;
  }
  size |= size >> 1;
  size |= size >> 2;
  size |= size >> 4;
  size |= size >> 8;
  size |= size >> 16;
  size |= size >> 32;
  size -= size >> 1;
  if (lowest && lowest < size) {
    size = lowest;
  }
  struct binding_key key = {BINDING_PREFIX_BITS - log2_of(size), context->vm, context->file,
                            __builtin_bswap64(context->at)};
  if (context->remove) {
    bpf_map_delete_elem(&bindings, &key);
  } else {
    struct binding binding = {context->to, context->object, 0};
    bpf_map_update_elem(&bindings, &key, &binding, BPF_ANY);
  }
  context->at += size;
  context->left -= size;
  return 0;
}

static __always_inline void on_bind(__u64 file, __u32 vm, const struct xe_bind_op* op) {
  struct bind_context context = {file, op->address, op->range, op->offset - op->address, vm, 0, 0, 0};
  if (op->op == XE_BIND_MAP) {
    context.object = op->object;
  } else if (op->op == XE_BIND_UNMAP) {
    context.remove = 1;
  } else if (op->op != XE_BIND_USER) {
    return; /* what an object was bound to, as it is unmapped altogether, does no harm: nothing is read there any more
             */
  }
  /* Kernels that were there are no more. */
  struct gpuprof_drm_bound* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (event) {
    event->type = GPUPROF_DRM_BOUND;
    event->vm = vm;
    event->file = file;
    event->address = op->address;
    event->bytes = op->range;
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  }
  bpf_loop(BINDING_BLOCKS, bind_block, &context, 0);
}

struct binds_context {
  __u64 file;
  __u64 from;
  __u32 vm;
  __u32 count;
};

static long bind_one(__u32 index, struct binds_context* context) {
  struct xe_bind_op op;
  if (index >= context->count ||
      bpf_probe_read_user(&op, sizeof(op), (const void*)(context->from + index * sizeof(op))) != 0) {
    return 1;
  }
  on_bind(context->file, context->vm, &op);
  return 0;
}

static __always_inline int is_recorded(void) {
  struct submitter submitter = {};
  return find_submitter(&submitter) == SUBMITTER_RECORDED;
}

/* (struct drm_device*, struct drm_xe_vm_bind*, struct drm_file*) */
SEC("fexit")
int on_xe_bind(__u64* ctx) {
  struct xe_bind bind;
  if ((int)ctx[3] != 0 || !is_recorded() || bpf_probe_read_kernel(&bind, sizeof(bind), (const void*)ctx[1]) != 0) {
    return 0;
  }
  if (bind.count == 1) {
    on_bind(ctx[2], bind.vm, &bind.bind);
  } else {
    struct binds_context context = {ctx[2], bind.bind.extensions, bind.vm, bind.count};
    bpf_loop(MAX_BINDS, bind_one, &context, 0);
  }
  return 0;
}

/* (struct drm_device*, struct drm_xe_gem_mmap_offset*, struct drm_file*) */
SEC("fexit")
int on_xe_mmap_offset(__u64* ctx) {
  struct xe_mmap_offset found;
  if ((int)ctx[3] != 0 || !is_recorded() || bpf_probe_read_kernel(&found, sizeof(found), (const void*)ctx[1]) != 0) {
    return 0;
  }
  struct object_key key = {ctx[2], found.offset};
  bpf_map_update_elem(&object_offsets, &key, &found.object, BPF_ANY);
  return 0;
}

/* (struct file*, struct vm_area_struct*) */
SEC("fentry")
int on_drm_mmap(__u64* ctx) {
  const struct file* file = (const struct file*)ctx[0];
  const struct vm_area_struct* area = (const struct vm_area_struct*)ctx[1];
  struct object_key key = {(__u64)BPF_CORE_READ(file, private_data), BPF_CORE_READ(area, vm_pgoff) << 12};
  __u32* object = bpf_map_lookup_elem(&object_offsets, &key);
  if (!object) {
    return 0;
  }
  struct object_memory memory = {BPF_CORE_READ(area, vm_start), 0};
  memory.bytes = BPF_CORE_READ(area, vm_end) - memory.begin;
  key.what = *object;
  bpf_map_update_elem(&object_memories, &key, &memory, BPF_ANY);
  return 0;
}

/* Where the process has what the GPU has at this address; 0: it is not known. */
static __always_inline __u64 user_address(__u64 file, __u32 vm, __u64 address) {
  struct binding_key key = {BINDING_PREFIX_BITS, vm, file, __builtin_bswap64(address)};
  struct binding* binding = bpf_map_lookup_elem(&bindings, &key);
  if (!binding) {
    return 0;
  }
  __u64 to = binding->to + address;
  if (!binding->object) {
    return to;
  }
  struct object_key object = {file, binding->object};
  struct object_memory* memory = bpf_map_lookup_elem(&object_memories, &object);
  return memory && to < memory->bytes ? memory->begin + to : 0;
}

struct batch_context {
  struct batch* batch;
};
struct batch_again {
  __u64 file;
};

static long scan_command(__u32 index, struct batch_context* context) {
  struct batch* batch = context->batch;
  struct gpuprof_batch_scan* scan = &batch->scan;
  __u32 words[GPUPROF_BATCH_WINDOW] = {};
  __u64 from = user_address(batch->event.file, batch->event.vm, scan->at);
  /* A short command may be the last thing that is there. */
  if (!from || (bpf_probe_read_user(words, sizeof(words), (const void*)from) != 0 &&
                bpf_probe_read_user(words, 3 * sizeof(words[0]), (const void*)from) != 0 &&
                bpf_probe_read_user(words, sizeof(words[0]), (const void*)from) != 0)) {
    scan->state = GPUPROF_BATCH_UNWRITTEN;
    return 1;
  }
  gpuprof_batch_step(scan, words);
  return scan->state != GPUPROF_BATCH_RUNS;
}

/* Looks at the batch from its beginning on, and tells what was found. Whether that is all. */
static __noinline int look_at(struct batch* batch) {
  if (!batch) {
    return 1;
  }
  __builtin_memset(&batch->scan, 0, sizeof(batch->scan));
  batch->scan.at = batch->address;
  struct batch_context context = {batch};
  bpf_loop(GPUPROF_BATCH_COMMANDS, scan_command, &context, 0);
  int written = batch->scan.state != GPUPROF_BATCH_UNWRITTEN;
  if (!written && batch->looks > 0 && batch->looks < MAX_LOOKS) {
    return 0; /* no news */
  }
  batch->event.base = batch->scan.base;
  batch->event.state = batch->scan.state;
  batch->event.count = batch->scan.count;
  __builtin_memcpy(batch->event.starts, batch->scan.starts, sizeof(batch->event.starts));
  bpf_ringbuf_output(&events, &batch->event, sizeof(batch->event), BPF_RB_NO_WAKEUP);
  return written;
}

static long look_again(__u32 slot, struct batch_again* again) {
  struct deferred_key key = {again->file, slot, 0};
  struct batch* batch = bpf_map_lookup_elem(&deferred, &key);
  if (batch && (++batch->looks > MAX_LOOKS || look_at(batch))) {
    bpf_map_delete_elem(&deferred, &key);
  }
  return 0;
}

/* In a call of a process that has handed over a batch before. */
static __always_inline void look_at_deferred(__u64 file) {
  struct batch_again again = {file};
  bpf_loop(DEFERRED, look_again, &again, 0);
}

/* The number by which the event of the batch is found; 0: there is none. In the context of who hands it over. */
static __always_inline __u64 begin_batch(__u64 file, __u32 vm, __u32 queue, const void* exec) {
  struct xe_exec asked;
  if (!is_recorded() || bpf_probe_read_kernel(&asked, sizeof(asked), exec) != 0 || asked.batches != 1) {
    return 0; /* an engine of several that work at once gets as many batches, at addresses that it is given */
  }
  look_at_deferred(file);
  __u64 thread = bpf_get_current_pid_tgid();
  __u32 first = 0;
  const struct batch* none = bpf_map_lookup_elem(&no_batch, &first);
  if (!none) {
    return 0;
  }
  bpf_map_update_elem(&batches, &thread, none, BPF_ANY);
  struct batch* batch = bpf_map_lookup_elem(&batches, &thread);
  if (!batch) {
    return 0;
  }
  __u64 now = bpf_ktime_get_ns();
  batch->event.type = GPUPROF_DRM_BATCH;
  batch->event.id = mix(thread, now) | 1;
  batch->event.file = file;
  batch->event.vm = vm;
  batch->event.queue = queue;
  batch->address = asked.address;
  if (!look_at(batch)) {
    batch->looks = 1;
    struct deferred_key key = {file, (__u32)(now >> 10) % DEFERRED, 0};
    bpf_map_update_elem(&deferred, &key, batch, BPF_ANY);
  }
  __u64 id = batch->event.id;
  bpf_map_delete_elem(&batches, &thread);
  return id;
}

/* (struct drm_device*, struct drm_xe_wait_user_fence*, struct drm_file*): who waits for a batch has written it. */
SEC("fentry")
int on_xe_wait(__u64* ctx) {
  if (is_recorded()) {
    look_at_deferred(ctx[2]);
  }
  return 0;
}

#endif
