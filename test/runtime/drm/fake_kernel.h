/* Covers the differences between Linux 6.1 and current kernels that affect the fake drivers. */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <linux/hrtimer.h>
#include <linux/seq_file.h>
#include <linux/version.h>

typedef enum hrtimer_restart (*timer_function)(struct hrtimer* timer);

static inline void make_timer(struct hrtimer* timer, timer_function function) {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
  hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
  hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
  timer->function = function;
#endif
}

#ifdef FAKE_SCHEDULER
#include <drm/gpu_scheduler.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define NOTHING_HAS_HUNG DRM_GPU_SCHED_STAT_NO_HANG
#else
#define NOTHING_HAS_HUNG DRM_GPU_SCHED_STAT_NOMINAL
#endif

/* Makes a scheduler of one ring that holds `jobs` jobs, without a timeout. */
static inline int make_scheduler(struct drm_gpu_scheduler* scheduler, const struct drm_sched_backend_ops* ops, u32 jobs,
                                 const char* name, struct device* device) {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
  const struct drm_sched_init_args args = {
      .ops = ops,
      .num_rqs = DRM_SCHED_PRIORITY_COUNT,
      .credit_limit = jobs,
      .timeout = MAX_SCHEDULE_TIMEOUT,
      .name = name,
      .dev = device,
  };
  return drm_sched_init(scheduler, &args);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
  return drm_sched_init(scheduler, ops, NULL, DRM_SCHED_PRIORITY_COUNT, jobs, 0, MAX_SCHEDULE_TIMEOUT, NULL, NULL, name,
                        device);
#else
  return drm_sched_init(scheduler, ops, jobs, 0, MAX_SCHEDULE_TIMEOUT, NULL, NULL, name, device);
#endif
}

static inline int make_job(struct drm_sched_job* job, struct drm_sched_entity* entity, void* owner, u64 client) {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
  return drm_sched_job_init(job, entity, 1, owner, client);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
  return drm_sched_job_init(job, entity, 1, owner);
#else
  return drm_sched_job_init(job, entity, owner);
#endif
}
#endif

#endif
