/*
 * Translates an address in a GPU VM to the process's address of the same memory. This is memory of the process or a
 * driver object that the process has mapped. VMs, files and objects get numbers that are never reused. So the entries
 * of a deleted VM are not found, even if the driver reuses the VM's id.
 *
 * A range of addresses is stored as aligned blocks with power-of-two sizes. A new block does not replace overlapping
 * blocks of other sizes. If several blocks contain an address, the most recently bound one is used. An unbound range is
 * stored as blocks with is_nothing set.
 *
 * Include after drm_counts.h.
 */
#ifndef GPUPROF_GPU_BINDINGS_H
#define GPUPROF_GPU_BINDINGS_H

#define BINDING_BLOCKS 96 /* A range is divided into at most this many blocks. */
#define BLOCK_SIZES 64
#define PAGE_BITS 12
#define IN_PAGE ((1ull << PAGE_BITS) - 1)

/* The last numbers given to VMs, bindings, files and objects. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, GPUPROF_DRM_NUMBERS);
  __type(key, __u32);
  __type(value, __u64);
} numbers SEC(".maps");

static __u64 next_number(__u32 which) {
  __u64* last = bpf_map_lookup_elem(&numbers, &which);
  return last ? __sync_fetch_and_add(last, 1) + 1 : 0;
}

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64); /* struct drm_file* */
  __type(value, __u64);
} files SEC(".maps");

/* Returns 0 if the file is unknown and `make` is 0. */
static __u64 file_number(__u64 file, int make) {
  __u64* known = bpf_map_lookup_elem(&files, &file);
  if (!known && make) {
    __u64 number = next_number(GPUPROF_DRM_NUMBER_OF_FILE);
    bpf_map_update_elem(&files, &file, &number, BPF_NOEXIST);
    known = bpf_map_lookup_elem(&files, &file);
  }
  return known ? *known : 0;
}

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct gpuprof_drm_space_key);
  __type(value, __u64);
} spaces SEC(".maps");

static __u64 space_number(__u64 file, __u32 vm, int make) {
  struct gpuprof_drm_space_key key = {file_number(file, make), vm, 0};
  if (!key.file) {
    return 0;
  }
  __u64* known = bpf_map_lookup_elem(&spaces, &key);
  if (!known && make) {
    __u64 number = next_number(GPUPROF_DRM_NUMBER_OF_SPACE);
    bpf_map_update_elem(&spaces, &key, &number, BPF_NOEXIST);
    known = bpf_map_lookup_elem(&spaces, &key);
  }
  return known ? *known : 0;
}

#define BINDING_PREFIX_BITS 96
struct binding {
  __u64 since;  /* sequence number of the binding; later bindings have greater numbers */
  __u64 to;     /* added to a GPU address, this gives the address in the process, or the offset in the object */
  __u64 object; /* number of the object; 0: memory of the process */
  __u32 size;   /* log2 of the block's size */
  __u32 is_nothing;
};
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 131072);
  __type(key, struct gpuprof_drm_binding_key);
  __type(value, struct binding);
} bindings SEC(".maps");

/* An object that was unbound from all addresses of a VM. */
struct unbound_key {
  __u64 space;
  __u64 object;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct unbound_key);
  __type(value, __u64); /* sequence number of the unbinding */
} unbound SEC(".maps");

struct object_key {
  __u64 file;
  __u64 what; /* the driver's handle of the object, or the object's mmap offset */
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, struct object_key);
  __type(value, __u64); /* object number */
} objects SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, struct object_key);
  __type(value, __u64); /* object number */
} object_offsets SEC(".maps");

struct object_memory {
  __u64 begin; /* address in the process */
  __u64 bytes;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, __u64); /* object number */
  __type(value, struct object_memory);
} object_memories SEC(".maps");

static __u64 object_number(__u64 file, __u32 handle, int make) {
  struct object_key key = {file_number(file, make), handle};
  if (!key.file) {
    return 0;
  }
  __u64* known = bpf_map_lookup_elem(&objects, &key);
  if (!known && make) {
    __u64 number = next_number(GPUPROF_DRM_NUMBER_OF_OBJECT);
    bpf_map_update_elem(&objects, &key, &number, BPF_NOEXIST);
    known = bpf_map_lookup_elem(&objects, &key);
  }
  return known ? *known : 0;
}

static __always_inline void set_offset(__u64 file, __u32 handle, __u64 offset) {
  __u64 object = object_number(file, handle, 1);
  struct object_key key = {file_number(file, 1), offset};
  bpf_map_update_elem(&object_offsets, &key, &object, BPF_ANY);
}

static __always_inline void set_memory(__u64 object, __u64 begin, __u64 bytes) {
  struct object_memory memory = {begin, bytes};
  bpf_map_update_elem(&object_memories, &object, &memory, BPF_ANY);
}

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
  struct binding binding;
  __u64 at;
  __u64 left;
  __u32 space;
  __u32 failed;
};

/* Binds the largest aligned block that begins at the start of the remaining range and fits into it. */
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
  context->binding.size = log2_of(size);
  struct gpuprof_drm_binding_key key = {BINDING_PREFIX_BITS - context->binding.size, context->space,
                                        __builtin_bswap64(context->at)};
  struct binding binding = context->binding;
  if (bpf_map_update_elem(&bindings, &key, &binding, BPF_ANY) != 0) {
    context->failed = 1;
    return 1;
  }
  context->at += size;
  context->left -= size;
  return 0;
}

static void send_bound(__u64 file, __u32 vm, __u64 address, __u64 bytes) {
  struct gpuprof_drm_bound* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count_job(GPUPROF_DRM_LOST_BATCHES);
    return;
  }
  event->type = GPUPROF_DRM_BOUND;
  event->vm = vm;
  event->file = file;
  event->address = address;
  event->bytes = bytes;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static void forget_vm(__u64 file, __u32 vm) {
  struct gpuprof_drm_space_key key = {file_number(file, 0), vm, 0};
  if (key.file && bpf_map_delete_elem(&spaces, &key) == 0) {
    send_bound(file, vm, 0, ~0ull);
  }
}

struct forget_context {
  __u64 file;
  __u64 spaces;
};

static long forget_space(void* map, struct gpuprof_drm_space_key* key, __u64* value, struct forget_context* context) {
  if (key->file == context->file) {
    struct gpuprof_drm_space_key gone = *key;
    bpf_map_delete_elem(&spaces, &gone);
    ++context->spaces;
  }
  return 0;
}

/* Forgets a file that is being closed. */
static void forget_file(__u64 file) {
  struct forget_context context = {file_number(file, 0), 0};
  if (!context.file) {
    return;
  }
  bpf_for_each_map_elem(&spaces, forget_space, &context, 0);
  bpf_map_delete_elem(&files, &file);
  send_bound(file, GPUPROF_DRM_ALL_VMS, 0, ~0ull);
}

/* Binds a range to an object, to memory, or to nothing. */
static __always_inline void bind_range(__u64 file, __u32 vm, __u64 address, __u64 bytes, const struct binding* what) {
  struct bind_context context = {};
  send_bound(file, vm, address, bytes); /* GPU kernels that were found in this range are no longer valid */
  context.binding = *what;
  context.at = address;
  context.left = bytes;
  context.space = space_number(file, vm, !what->is_nothing);
  if (!context.space && what->is_nothing) {
    return;
  }
  context.binding.since = next_number(GPUPROF_DRM_NUMBER_OF_BINDING);
  if (context.space) {
    bpf_loop(BINDING_BLOCKS, bind_block, &context, 0);
  }
  if (!context.space || context.failed) {
    /* Some blocks of the range are missing. Forgets all bindings of the VM, because an unknown address is better
     * than a wrong one. */
    count_job(GPUPROF_DRM_LOST_BINDINGS);
    forget_vm(file, vm);
  }
}

struct find_context {
  struct gpuprof_drm_binding_key key;
  struct binding found;
};

/* Looks up the smallest block that contains the address and is larger than the blocks of earlier calls. */
static long find_block(__u32 index, struct find_context* context) {
  struct gpuprof_drm_binding_key key = context->key;
  const struct binding* binding = bpf_map_lookup_elem(&bindings, &key);
  if (!binding) {
    return 1;
  }
  if (binding->since > context->found.since) {
    context->found = *binding;
  }
  context->key.prefix = BINDING_PREFIX_BITS - (binding->size & (BLOCK_SIZES - 1)) - 1;
  return 0;
}

/* Translates a GPU address to an address in the process; 0: unknown. */
static __always_inline __u64 user_address(__u64 file, __u32 vm, __u64 address) {
  struct find_context context = {};
  struct unbound_key key = {space_number(file, vm, 0), 0};
  if (!key.space) {
    return 0;
  }
  context.key.prefix = BINDING_PREFIX_BITS;
  context.key.space = key.space;
  context.key.address = __builtin_bswap64(address);
  bpf_loop(BLOCK_SIZES, find_block, &context, 0);
  if (!context.found.since || context.found.is_nothing) {
    return 0;
  }
  __u64 to = context.found.to + address;
  if (!context.found.object) {
    return to;
  }
  key.object = context.found.object;
  const __u64* until = bpf_map_lookup_elem(&unbound, &key);
  if (until && *until > context.found.since) {
    return 0;
  }
  const struct object_memory* memory = bpf_map_lookup_elem(&object_memories, &key.object);
  return memory && to < memory->bytes ? memory->begin + to : 0;
}

/* Returns an argument as a number, because the verifier forbids arithmetic on known pointers. */
static __always_inline __u64 number_of(__u64 argument) {
  __u64 number = 0;
  bpf_probe_read_kernel(&number, sizeof(number), &argument);
  return number;
}

static __always_inline int is_recorded(void) {
  struct submitter submitter = {};
  return find_submitter(&submitter) == SUBMITTER_RECORDED;
}

static __always_inline void on_mapped(const __u64* ctx) {
  const struct file* file = (const struct file*)ctx[0];
  const struct vm_area_struct* area = (const struct vm_area_struct*)ctx[1];
  struct object_key key = {file_number((__u64)BPF_CORE_READ(file, private_data), 0),
                           (__u64)BPF_CORE_READ(area, vm_pgoff) << (config.page_shift & 31)};
  __u64* object = bpf_map_lookup_elem(&object_offsets, &key);
  if (object) {
    __u64 begin = BPF_CORE_READ(area, vm_start);
    set_memory(*object, begin, BPF_CORE_READ(area, vm_end) - begin);
  }
}

/* Arguments: (struct file*, struct vm_area_struct*) */
SEC("fentry")
int on_drm_mmap(__u64* ctx) {
  on_mapped(ctx);
  return 0;
}

SEC("fentry")
int on_i915_map(__u64* ctx) {
  on_mapped(ctx);
  return 0;
}

/* Forgets an object's handle, because the driver may soon reuse it. Keeps the object's bindings. */
static __always_inline void on_closed(const __u64* ctx) {
  struct object_key key = {file_number(number_of(ctx[0]), 0), (__u32)ctx[1]};
  bpf_map_delete_elem(&objects, &key);
}

/* Arguments: (struct drm_file*, u32) */
SEC("fentry")
int on_object_closed(__u64* ctx) {
  on_closed(ctx);
  return 0;
}

/* Does the same as on_object_closed(), which is attached only for xe. */
SEC("fentry")
int on_i915_object_closed(__u64* ctx) {
  on_closed(ctx);
  return 0;
}

#endif
