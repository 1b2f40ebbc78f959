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
  __u32 pad;
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

#define FAKE_GPU_SUBMIT _IOW('g', 1, struct fake_gpu_submit)
#define FAKE_GPU_WAIT _IO('g', 2) /* until it has nothing to do */
#define FAKE_GPU_TRUTH _IOWR('g', 3, struct fake_gpu_truth)
#define FAKE_GPU_CREATE_QUEUE _IOWR('g', 4, struct fake_gpu_create_queue)

#endif
