/* Follows the ioctls of i915 that lead to batches: mappings of objects, VMs of contexts, and the batches. The objects
 * of a call, with their addresses, are arguments of the call. Include after batch_buffers.h. */
#ifndef GPUPROF_I915_BATCHES_H
#define GPUPROF_I915_BATCHES_H

/* Layouts from the kernel's stable interface, i915_drm.h. */
struct i915_exec {
  __u64 objects;
  __u32 count;
  __u32 start; /* offset of the batch in its object */
  __u32 bytes;
  __u32 unused[3];
  __u64 unused_too;
  __u64 flags;
  __u64 context;
};
#define I915_BATCH_IS_FIRST (1ull << 18) /* the batch is the call's first object; without this flag, the last */
struct i915_mmap_offset {
  __u32 object;
  __u32 pad;
  __u64 offset;
};
struct i915_mmap {
  __u32 object;
  __u32 pad;
  __u64 offset;
  __u64 bytes;
  __u64 begin; /* address in the process, set by the driver */
};
struct i915_user_memory {
  __u64 begin;
  __u64 bytes;
  __u32 flags;
  __u32 object;
};
struct i915_parameter {
  __u32 context;
  __u32 bytes;
  __u64 parameter;
  __u64 value;
};
#define I915_PARAMETER_VM 9
struct i915_create {
  __u32 context;
  __u32 flags;
  __u64 extensions;
};
#define I915_CREATE_EXTENDED 1
struct i915_extension {
  __u64 next;
  __u32 name; /* 0: the extension sets a parameter */
  __u32 unused[5];
  struct i915_parameter set;
};
#define MAX_EXTENSIONS 16

struct context_key {
  __u64 file;
  __u64 context;
};
/* Contains a context only if user space has assigned a VM to it. Every other context has its own VM. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct context_key);
  __type(value, __u32);
} context_vms SEC(".maps");

static __always_inline void set_vm(__u64 file, __u32 context, const struct i915_parameter* set) {
  struct context_key key = {file_number(file, 1), context};
  __u32 vm = (__u32)set->value;
  if (set->parameter == I915_PARAMETER_VM) {
    bpf_map_update_elem(&context_vms, &key, &vm, BPF_ANY);
  }
}

struct extensions_context {
  __u64 file;
  __u64 at;
  __u64 context;
};

static long take_extension(__u32 index, struct extensions_context* context) {
  struct i915_extension extension = {};
  if (!context->at || bpf_probe_read_user(&extension, sizeof(extension), (const void*)context->at) != 0) {
    return 1;
  }
  if (extension.name == 0) {
    set_vm(context->file, (__u32)context->context, &extension.set);
  }
  context->at = extension.next;
  return 0;
}

/* Arguments of the programs below: (struct drm_device*, void* data, struct drm_file*) */

SEC("fexit")
int on_i915_context_created(__u64* ctx) {
  struct i915_create made;
  if ((int)ctx[3] != 0 || !is_recorded() || bpf_probe_read_kernel(&made, sizeof(made), (const void*)ctx[1]) != 0) {
    return 0;
  }
  struct extensions_context context = {number_of(ctx[2]), made.extensions, made.context};
  struct context_key key = {file_number(context.file, 1), made.context};
  bpf_map_delete_elem(&context_vms, &key); /* removes the entry of an earlier context with the same id */
  if (made.flags & I915_CREATE_EXTENDED) {
    bpf_loop(MAX_EXTENSIONS, take_extension, &context, 0);
  }
  return 0;
}

SEC("fexit")
int on_i915_context_set(__u64* ctx) {
  struct i915_parameter set;
  if ((int)ctx[3] == 0 && is_recorded() && bpf_probe_read_kernel(&set, sizeof(set), (const void*)ctx[1]) == 0) {
    set_vm(number_of(ctx[2]), set.context, &set);
  }
  return 0;
}

SEC("fexit")
int on_i915_mmap_offset(__u64* ctx) {
  struct i915_mmap_offset found;
  if ((int)ctx[3] == 0 && is_recorded() && bpf_probe_read_kernel(&found, sizeof(found), (const void*)ctx[1]) == 0) {
    set_offset(number_of(ctx[2]), found.object, found.offset);
  }
  return 0;
}

/* Runs after the older mmap ioctl. Unlike the newer one, this ioctl maps the object itself. */
SEC("fexit")
int on_i915_mmap(__u64* ctx) {
  struct i915_mmap made;
  if ((int)ctx[3] == 0 && is_recorded() && bpf_probe_read_kernel(&made, sizeof(made), (const void*)ctx[1]) == 0 &&
      made.begin >= made.offset) {
    set_memory(object_number(number_of(ctx[2]), made.object, 1), made.begin - made.offset, made.offset + made.bytes);
  }
  return 0;
}

SEC("fexit")
int on_i915_user_memory(__u64* ctx) {
  struct i915_user_memory made;
  if ((int)ctx[3] == 0 && is_recorded() && bpf_probe_read_kernel(&made, sizeof(made), (const void*)ctx[1]) == 0) {
    set_memory(object_number(number_of(ctx[2]), made.object, 1), made.begin, made.bytes);
  }
  return 0;
}

/* Arguments: (struct drm_device*, struct drm_file*) */
SEC("fentry")
int on_i915_closed(__u64* ctx) {
  forget_file(number_of(ctx[1]));
  return 0;
}

/* Returns the VM that user space has assigned to the context, or 0 if the context has its own VM. */
static __always_inline __u32 vm_of_context(__u64 file, __u32 context) {
  struct context_key key = {file_number(file, 1), context};
  const __u32* given = bpf_map_lookup_elem(&context_vms, &key);
  return given ? *given : 0;
}

/* Reads the batch of a call that has succeeded. Before that, neither the objects' addresses nor the addresses in the
 * batch need be right: the driver places the objects and applies the relocations during the call. */
static __always_inline void take_i915_batch(__u64 file, const struct gpuprof_drm_submission* submission,
                                            const void* exec, __u64 objects) {
  struct i915_exec asked;
  __u64 address = 0;
  if (bpf_probe_read_kernel(&asked, sizeof(asked), exec) != 0 || !asked.count || !objects) {
    return;
  }
  __u32 which = asked.flags & I915_BATCH_IS_FIRST ? 0 : asked.count - 1;
  const struct i915_object* object = (const struct i915_object*)objects + which;
  if (bpf_probe_read_kernel(&address, sizeof(address), &object->address) != 0) {
    return;
  }
  struct handed handed = {.id = submission->batch,
                          .file = file,
                          .address = (address & ~IN_PAGE) + asked.start,
                          .list = objects,
                          .listed = asked.count,
                          .vm = submission->vm ? submission->vm : submission->id | 0x80000000u,
                          .queue = submission->id};
  take_batch(&handed);
}

#endif
