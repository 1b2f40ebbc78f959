/* Follows the ioctls of xe that lead to batches: VM binds, mappings of objects, and the batches. Include after
 * batch_buffers.h. */
#ifndef GPUPROF_XE_BATCHES_H
#define GPUPROF_XE_BATCHES_H

#define MAX_BINDS 64 /* limit on the operations of one bind ioctl */

/* Layouts from the kernel's stable interface, xe_drm.h. */
struct xe_bind_op {
  __u64 extensions;
  __u32 object;
  __u32 caching;
  __u64 offset; /* offset in the object, or address in the process */
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
  struct xe_bind_op bind; /* if count > 1, the first 8 bytes are the address of an array of operations */
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
struct xe_vm_destroy {
  __u32 vm;
};
enum { XE_BIND_MAP = 0, XE_BIND_UNMAP = 1, XE_BIND_USER = 2, XE_BIND_UNMAP_ALL = 3 };
#define XE_BIND_NULL (1 << 2)   /* reads of the range succeed, although it has no memory */
#define XE_BIND_MIRROR (1 << 5) /* GPU addresses equal the process's addresses */

static __always_inline void on_bind(__u64 file, __u32 vm, const struct xe_bind_op* op) {
  struct binding binding = {};
  if (op->op == XE_BIND_UNMAP_ALL) {
    struct unbound_key key = {space_number(file, vm, 0), object_number(file, op->object, 0)};
    __u64 now = next_number(GPUPROF_DRM_NUMBER_OF_BINDING);
    if (key.space && key.object && bpf_map_update_elem(&unbound, &key, &now, BPF_ANY) != 0) {
      count_job(GPUPROF_DRM_LOST_BINDINGS);
      forget_vm(file, vm);
    }
    return;
  }
  binding.to = op->offset - op->address;
  if (op->op == XE_BIND_UNMAP || (op->op == XE_BIND_MAP && op->flags & XE_BIND_NULL)) {
    binding.is_nothing = 1;
  } else if (op->op == XE_BIND_MAP && op->object) {
    binding.object = object_number(file, op->object, 1);
    binding.is_nothing = !binding.object;
  } else if (op->op == XE_BIND_MAP && op->flags & XE_BIND_MIRROR) {
    binding.to = 0;
  } else if (op->op != XE_BIND_USER) {
    return;
  }
  bind_range(file, vm, op->address, op->range, &binding);
}

struct binds_context {
  __u64 file;
  __u64 from;
  __u32 vm;
  __u32 count;
};

static long bind_one(__u32 index, struct binds_context* context) {
  struct xe_bind_op op;
  if (index >= context->count) {
    return 1;
  }
  if (bpf_probe_read_user(&op, sizeof(op), (const void*)(context->from + index * sizeof(op))) != 0) {
    count_job(GPUPROF_DRM_LOST_BINDINGS);
    forget_vm(context->file, context->vm);
    return 1;
  }
  on_bind(context->file, context->vm, &op);
  return 0;
}

/* Arguments: (struct drm_device*, struct drm_xe_vm_bind*, struct drm_file*) */
SEC("fexit")
int on_xe_bind(__u64* ctx) {
  struct xe_bind bind;
  if ((int)ctx[3] != 0 || !is_recorded() || bpf_probe_read_kernel(&bind, sizeof(bind), (const void*)ctx[1]) != 0) {
    return 0;
  }
  __u64 file = number_of(ctx[2]);
  if (bind.count == 1) {
    on_bind(file, bind.vm, &bind.bind);
  } else {
    struct binds_context context = {file, bind.bind.extensions, bind.vm, bind.count};
    bpf_loop(MAX_BINDS, bind_one, &context, 0);
    /* If operations remain, forgets all bindings of the VM, because an unknown address is better than a wrong one. */
    if (bind.count > MAX_BINDS) {
      count_job(GPUPROF_DRM_LOST_BINDINGS);
      forget_vm(file, bind.vm);
    }
  }
  return 0;
}

/* Runs before the driver frees the VM's id, because a new VM may get this id before the ioctl returns. */
/* Arguments: (struct drm_device*, struct drm_xe_vm_destroy*, struct drm_file*) */
SEC("fentry")
int on_xe_vm_destroyed(__u64* ctx) {
  struct xe_vm_destroy gone;
  if (bpf_probe_read_kernel(&gone, sizeof(gone), (const void*)ctx[1]) == 0) {
    forget_vm(number_of(ctx[2]), gone.vm);
  }
  return 0;
}

/* Counts a VM that the driver did not destroy because it was busy. on_xe_vm_destroyed() has already dropped its
 * bindings. Has the same arguments as that function. */
SEC("fexit")
int on_xe_vm_kept(__u64* ctx) {
  if ((int)ctx[3] == -EBUSY && is_recorded()) {
    count_job(GPUPROF_DRM_LOST_BINDINGS);
  }
  return 0;
}

static void send_queue_ended(__u64 file, __u64 context) {
  struct gpuprof_drm_queue_ended event = {GPUPROF_DRM_QUEUE_ENDED, 0, file, context, bpf_ktime_get_ns()};
  if (bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_NO_WAKEUP) != 0) {
    count_job(GPUPROF_DRM_LOST_BATCHES);
  }
}

/* Arguments: (struct drm_device*, struct drm_file*) */
SEC("fentry")
int on_xe_closed(__u64* ctx) {
  __u64 file = number_of(ctx[1]);
  if (file_number(file, 0)) {
    send_queue_ended(file, 0);
  }
  forget_deferred(file);
  forget_file(file);
  return 0;
}

/* Arguments: (struct drm_device*, struct drm_xe_gem_mmap_offset*, struct drm_file*) */
SEC("fexit")
int on_xe_mmap_offset(__u64* ctx) {
  struct xe_mmap_offset found;
  if ((int)ctx[3] == 0 && is_recorded() && bpf_probe_read_kernel(&found, sizeof(found), (const void*)ctx[1]) == 0) {
    set_offset(number_of(ctx[2]), found.object, found.offset);
  }
  return 0;
}

static __always_inline __u64 take_xe_batch(__u64 file, __u32 vm, __u32 queue, const void* exec) {
  struct xe_exec asked;
  if (!is_recorded() || bpf_probe_read_kernel(&asked, sizeof(asked), exec) != 0 || asked.batches != 1) {
    /* A job for parallel engines has several batches, at addresses given by a list. Such jobs are not supported. */
    return 0;
  }
  reread_deferred(file);
  struct handed handed = {.id = new_batch_id(), .file = file, .address = asked.address, .vm = vm, .queue = queue};
  return take_batch(&handed);
}

/* Open files that have submitted work since their last wait. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64); /* struct drm_file* */
  __type(value, __u8);
} submitted_files SEC(".maps");

/* Reads deferred batches again, because a thread that waits for a batch has finished writing it. Arguments: (struct
 * drm_device*, struct drm_xe_wait_user_fence*, struct drm_file*) */
SEC("fentry")
int on_xe_wait(__u64* ctx) {
  __u64 file = ctx[2];
  if (!is_recorded()) {
    return 0;
  }
  if (bpf_map_delete_elem(&submitted_files, &file) != 0) {
    count_job(GPUPROF_DRM_WAITS_ONLY);
  }
  if (config.batches) {
    reread_deferred(number_of(file));
  }
  return 0;
}

#endif
