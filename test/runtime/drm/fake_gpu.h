/* The ioctls of the fake drivers, for the modules and for what submits to them. */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FAKE_GPU_RINGS 2

struct fake_gpu_submit {
  __u32 ring;
  __u32 by_worker; /* 1: a thread of the kernel queues the job */
  __u64 duration_ns;
  __u32 queue; /* of xe the exec queue, of i915 the context */
  __u32 own;   /* of xe: ms for which a job of the driver's own runs on the other ring, which is queued before */
  __u64 batch; /* of xe: where the GPU has its commands, which it does not look at */
};

/* What the GPU has done since it was loaded, of jobs that no thread of the kernel has queued. */
struct fake_gpu_truth {
  __u32 ring;
  __u32 pad;
  __u64 jobs;
  __u64 busy_ns;
};

/* Of xe: makes the exec queue that the driver numbers next. */
struct fake_gpu_create_queue {
  __u32 vm;
  __u32 queue; /* its number, as an answer */
};

/* Of i915: an object that is handed over with batches from now on. Of xe: binds memory of the process, or an object, or
 * where there is neither unbinds what is there; nothing reads it. An object without bytes is unbound wherever it is. */
struct fake_gpu_bind {
  __u32 vm;
  __u32 object;
  __u64 address;
  __u64 memory;
  __u64 bytes;
};

/* By which offset its file maps an object. */
struct fake_gpu_object {
  __u32 object; /* any number */
  __u32 pad;
  __u64 offset; /* as an answer */
};

/* Of i915: a context that is given a VM, by such a list or by the number. */
struct fake_gpu_context {
  __u32 context;
  __u32 vm;
  __u64 extensions;
};
#define FAKE_GPU_OBJECTS 8 /* of a file of i915 */

/* Of xe: a VM that is destroyed, an object that is closed. */
struct fake_gpu_gone {
  __u32 vm;
  __u32 object;
};

/* Of xe: what its stream of EU stalls goes on with. */
enum fake_gpu_stall_what {
  FAKE_GPU_RECORDS = 0, /* `times` records */
  FAKE_GPU_DROP = 1,    /* the next read says that some were dropped */
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
#define FAKE_GPU_WAIT _IO('g', 2) /* until it has nothing to do */
#define FAKE_GPU_TRUTH _IOWR('g', 3, struct fake_gpu_truth)
#define FAKE_GPU_CREATE_QUEUE _IOWR('g', 4, struct fake_gpu_create_queue)
#define FAKE_GPU_BIND _IOW('g', 5, struct fake_gpu_bind)
#define FAKE_GPU_STALLS _IOW('g', 6, struct fake_gpu_stalls)
#define FAKE_GPU_GONE _IOW('g', 8, struct fake_gpu_gone)
#define FAKE_GPU_CONTEXT _IOW('g', 9, struct fake_gpu_context)
#define FAKE_GPU_OBJECT _IOWR('g', 7, struct fake_gpu_object)

#endif
