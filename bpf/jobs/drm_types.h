/* The kernel structs that drm.bpf.c reads. libbpf relocates the fields at load. */
#ifndef GPUPROF_DRM_TYPES_H
#define GPUPROF_DRM_TYPES_H

struct device_driver {
  const char* name;
} __attribute__((preserve_access_index));

struct kobject {
  const char* name;
} __attribute__((preserve_access_index));

struct device {
  struct kobject kobj;
  const char* init_name;
  struct device_driver* driver;
} __attribute__((preserve_access_index));

struct dma_fence {
  __u64 context;
  __u64 seqno;
  int error;
} __attribute__((preserve_access_index));

struct drm_gpu_scheduler {
  const char* name;
  struct device* dev; /* since Linux 5.17 */
} __attribute__((preserve_access_index));

struct drm_sched_fence {
  struct dma_fence finished;
  struct dma_fence* parent; /* fence of the hardware; null if the driver returned none */
  __u64 drm_client_id;      /* since Linux 6.17 */
} __attribute__((preserve_access_index));

struct drm_sched_job {
  struct drm_gpu_scheduler* sched;
  struct drm_sched_fence* s_fence;
} __attribute__((preserve_access_index));

struct drm_device {
  struct device* dev;
} __attribute__((preserve_access_index));

struct drm_file {
  __u64 client_id; /* since Linux 6.5 */
} __attribute__((preserve_access_index));

/* Arguments of the ioctls of xe and i915. */
struct drm_xe_exec {
  __u32 exec_queue_id;
} __attribute__((preserve_access_index));

struct drm_xe_exec_queue_create {
  __u32 vm_id;
  __u32 exec_queue_id;
  __u64 instances; /* address of the engines; each begins with its class, 16 bits */
} __attribute__((preserve_access_index));

struct drm_i915_gem_execbuffer2 {
  __u64 rsvd1; /* the lower 32 bits are the context id */
} __attribute__((preserve_access_index));

struct drm_i915_private {
  struct drm_device drm;
} __attribute__((preserve_access_index));

struct intel_engine_cs {
  char name[8];
} __attribute__((preserve_access_index));

struct i915_request {
  struct dma_fence fence;
  struct drm_i915_private* i915;
  struct intel_engine_cs* engine;
} __attribute__((preserve_access_index));

#endif
