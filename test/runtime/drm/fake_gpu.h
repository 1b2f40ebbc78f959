/* The ioctls of the fake drivers, for the modules and for the programs that submit to them. */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FAKE_GPU_RINGS 2
/* The driver gives Linux's scheduler no fence, as xe does for long-running VMs before Linux 6.19. */
#define FAKE_GPU_NO_FENCE 2

struct fake_gpu_submit {
  __u32 ring;
  __u32 by_worker; /* 1: a kernel thread queues the job; or FAKE_GPU_NO_FENCE */
  __u64 duration_ns;
  __u32 queue; /* xe: the exec queue; i915: the context */
  __u32 own;   /* xe: the driver first queues its own job of this many ms on the other ring */
  __u64 batch; /* xe: GPU address of the commands, which the fake GPU does not read */
};

/* The GPU's work since the module was loaded, without jobs that kernel threads have queued. */
struct fake_gpu_truth {
  __u32 ring;
  __u32 pad;
  __u64 jobs;
  __u64 busy_ns;
};

/* xe: creates an exec queue with the driver's next number. */
struct fake_gpu_create_queue {
  __u32 vm;
  __u32 queue; /* result: the queue's number; before: the class of its engine in the upper 16 bits */
};

/* i915: adds an object to all later batches. xe: binds process memory or an object, or unbinds the address if neither
 * is given. The fake GPU does not read bound memory. If the object has 0 bytes, all its bindings are removed. */
struct fake_gpu_bind {
  __u32 vm;
  __u32 object;
  __u64 address;
  __u64 memory;
  __u64 bytes;
};

/* xe: binds by a list of operations in the caller's memory, in the layout of drm_xe_vm_bind_op. */
struct fake_gpu_bind_op {
  __u64 extensions;
  __u32 object;
  __u32 caching;
  __u64 memory;
  __u64 bytes;
  __u64 address;
  __u32 op;    /* 0: map an object or nothing, 2: map process memory */
  __u32 flags; /* FAKE_GPU_NOTHING, FAKE_GPU_MIRROR */
  __u64 reserved[4];
};
#define FAKE_GPU_NOTHING (1 << 2) /* DRM_XE_VM_BIND_FLAG_NULL */
#define FAKE_GPU_MIRROR (1 << 5)  /* DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR, since Linux 6.15 */
struct fake_gpu_binds {
  __u32 vm;
  __u32 count;
  __u64 ops;
};

/* Returns the file offset at which an object can be mapped. */
struct fake_gpu_object {
  __u32 object; /* chosen by the caller */
  __u32 pad;
  __u64 offset; /* result: the file offset */
};

/* i915: gives a VM to a context, through a list of extensions or by its number. */
struct fake_gpu_context {
  __u32 context;
  __u32 vm;
  __u64 extensions;
};
#define FAKE_GPU_OBJECTS 8 /* maximum per file of i915; the objects' numbers are smaller */

/* i915: later calls do not say where the objects are, as in a program that has not learned their addresses. The driver
 * places the objects, and writes their addresses into this object: `count` entries of drm_i915_gem_relocation_entry. */
struct fake_gpu_relocations {
  __u32 object;
  __u32 count;
  __u64 entries;
};

/* xe: destroys a VM or an exec queue, or closes an object. */
struct fake_gpu_gone {
  __u32 vm;
  __u32 object;
  __u32 queue;
};

/* xe: what the EU stall stream reports next. */
enum fake_gpu_stall_what {
  FAKE_GPU_RECORDS = 0, /* `times` records */
  FAKE_GPU_DROP = 1,    /* the next read reports dropped records */
  FAKE_GPU_RESET = 2    /* the stream ends */
};
struct fake_gpu_stalls {
  __u32 gt;
  __u32 what;
  __u32 times;
  __u32 pad;
  __u8 record[64];
};
#define FAKE_GPU_GTS 2

#define FAKE_GPU_SUBMIT _IOW('g', 1, struct fake_gpu_submit)
#define FAKE_GPU_WAIT _IO('g', 2) /* waits until the GPU is idle */
#define FAKE_GPU_TRUTH _IOWR('g', 3, struct fake_gpu_truth)
#define FAKE_GPU_CREATE_QUEUE _IOWR('g', 4, struct fake_gpu_create_queue)
#define FAKE_GPU_BIND _IOW('g', 5, struct fake_gpu_bind)
#define FAKE_GPU_STALLS _IOW('g', 6, struct fake_gpu_stalls)
#define FAKE_GPU_GONE _IOW('g', 8, struct fake_gpu_gone)
#define FAKE_GPU_CONTEXT _IOW('g', 9, struct fake_gpu_context)
#define FAKE_GPU_BINDS _IOW('g', 10, struct fake_gpu_binds)
#define FAKE_GPU_RELOCATE _IOW('g', 11, struct fake_gpu_relocations)
#define FAKE_GPU_OBJECT _IOWR('g', 7, struct fake_gpu_object)

#endif
