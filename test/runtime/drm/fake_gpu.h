/* The ioctls of fake_gpu.ko, for the module and for what submits to it. */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FAKE_GPU_RINGS 2

struct fake_gpu_submit {
  __u32 ring;
  __u32 by_worker; /* 1: a thread of the kernel queues the job */
  __u64 duration_ns;
};

/* What the GPU has done since it was loaded. */
struct fake_gpu_truth {
  __u32 ring;
  __u32 pad;
  __u64 jobs;
  __u64 busy_ns;
};

#define FAKE_GPU_SUBMIT _IOW('g', 1, struct fake_gpu_submit)
#define FAKE_GPU_WAIT _IO('g', 2) /* until it has nothing to do */
#define FAKE_GPU_TRUTH _IOWR('g', 3, struct fake_gpu_truth)

#endif
