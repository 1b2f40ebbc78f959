/* Finds the exec queue and VM (xe) or the context (i915) of a submission, which the tracepoints of jobs do not report.
 * These ids come from the drivers' ioctls. If the table of running ioctls is full, jobs are recorded without these ids.
 * Include after gpu_bindings.h. */
#ifndef GPUPROF_DRM_SUBMISSION_H
#define GPUPROF_DRM_SUBMISSION_H

#include "jobs/drm_types.h"
#include "wire/drm_events.h"

struct job_key {
  __u64 context;
  __u64 seqno;
};

struct call {
  struct gpuprof_drm_submission submission;
  struct job_key last;
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, __u64); /* thread */
  __type(value, struct call);
} submissions SEC(".maps");

struct exec_queue_key {
  __u64 file;
  __u64 queue;
};

struct exec_queue {
  __u32 vm;
  __u32 has_kernels; /* 0: the queue's engine runs no kernels */
};

/* Engine classes of xe's interface, xe_drm.h: render and compute engines run kernels, copy and video engines do not. */
enum { XE_RENDER = 0, XE_COMPUTE = 4 };

/* Each exec queue that was created during the recording. The kernel may reuse the address of a closed file. Then the
 * new file's queues replace the old entries. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct exec_queue_key);
  __type(value, struct exec_queue);
} exec_queues SEC(".maps");

/* The fence context of each exec queue's jobs, learned from the last exec ioctl for that queue. If a job with
 * another fence context is queued during an exec ioctl, it is one of the driver's own jobs. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct exec_queue_key);
  __type(value, __u64);
} queue_contexts SEC(".maps");

static __always_inline void begin_submission(const struct drm_file* file,
                                             const struct gpuprof_drm_submission* submission) {
  if (!is_recorded()) { /* others must not evict entries */
    return;
  }
  __u64 thread = bpf_get_current_pid_tgid();
  struct call call = {*submission, {}};
  call.submission.file = (__u64)file;
  if (bpf_core_field_exists(file->client_id)) {
    call.submission.client = BPF_CORE_READ(file, client_id);
  }
  bpf_map_update_elem(&submissions, &thread, &call, BPF_ANY);
}

/* Ends an exec ioctl. The last job that was queued in it is the caller's; earlier ones (memory moves, new binds) are
 * the driver's own. */
static __always_inline int end_submission(int result) {
  __u64 thread = bpf_get_current_pid_tgid();
  const struct call* call = bpf_map_lookup_elem(&submissions, &thread);
  if (call && call->submission.batch && call->last.context && result == 0) {
    struct gpuprof_drm_submitted event = {GPUPROF_DRM_SUBMITTED, 0, call->submission.batch, call->last.context,
                                          call->last.seqno};
    if (bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_NO_WAKEUP) != 0) {
      count_job(GPUPROF_DRM_LOST_BATCHES);
    }
  }
  if (call && call->submission.kind == GPUPROF_DRM_EXEC_QUEUE && call->last.context && result == 0) {
    struct exec_queue_key key = {call->submission.file, call->submission.id};
    __u64 context = call->last.context;
    bpf_map_update_elem(&queue_contexts, &key, &context, BPF_ANY);
  }
  bpf_map_delete_elem(&submissions, &thread);
  return 0;
}

/* Programs at xe's ioctls. Arguments: (struct drm_device*, void* data, struct drm_file*) */

SEC("fentry")
int on_xe_exec(__u64* ctx) {
  const struct drm_xe_exec* exec = (const struct drm_xe_exec*)ctx[1];
  struct gpuprof_drm_submission submission = {.kind = GPUPROF_DRM_EXEC_QUEUE};
  submission.id = BPF_CORE_READ(exec, exec_queue_id);
  struct exec_queue_key key = {ctx[2], submission.id};
  const struct exec_queue* queue = bpf_map_lookup_elem(&exec_queues, &key);
  submission.vm = queue ? queue->vm : 0;
  if (is_recorded()) {
    __u64 file = ctx[2];
    __u8 one = 1;
    bpf_map_update_elem(&submitted_files, &file, &one, BPF_ANY);
  }
  if (config.batches && (!queue || queue->has_kernels)) {
    submission.batch = take_xe_batch(number_of(ctx[2]), submission.vm, submission.id, exec);
  }
  begin_submission((const struct drm_file*)ctx[2], &submission);
  return 0;
}

SEC("fexit")
int on_xe_exec_end(__u64* ctx) {
  return end_submission((int)ctx[3]);
}

SEC("fexit")
int on_xe_queue_created(__u64* ctx) {
  const struct drm_xe_exec_queue_create* create = (const struct drm_xe_exec_queue_create*)ctx[1];
  if ((int)ctx[3] != 0 || !is_recorded()) {
    return 0;
  }
  struct exec_queue_key key = {ctx[2], BPF_CORE_READ(create, exec_queue_id)};
  __u16 engine = XE_RENDER;
  bpf_probe_read_user(&engine, sizeof(engine), (const void*)BPF_CORE_READ(create, instances));
  struct exec_queue queue = {BPF_CORE_READ(create, vm_id), engine == XE_RENDER || engine == XE_COMPUTE};
  bpf_map_update_elem(&exec_queues, &key, &queue, BPF_ANY);
  bpf_map_delete_elem(&queue_contexts, &key);
  return 0;
}

/* The layout of drm_xe_exec_queue_destroy, which xe's stable interface fixes, has the queue's id first. */
SEC("fexit")
int on_xe_queue_destroyed(__u64* ctx) {
  struct exec_queue_key key = {ctx[2], 0};
  __u32 queue = 0;
  if ((int)ctx[3] != 0 || !is_recorded() || bpf_probe_read_kernel(&queue, sizeof(queue), (const void*)ctx[1]) != 0) {
    return 0;
  }
  key.queue = queue;
  const __u64* context = bpf_map_lookup_elem(&queue_contexts, &key);
  if (context) {
    send_queue_ended(number_of(ctx[2]), *context);
  }
  return 0;
}

/* Programs at i915_gem_do_execbuffer(). Arguments: (struct drm_device*, struct drm_file*, struct
 * drm_i915_gem_execbuffer2*, struct drm_i915_gem_exec_object2*) */

SEC("fentry")
int on_i915_exec(__u64* ctx) {
  const struct drm_i915_gem_execbuffer2* exec = (const struct drm_i915_gem_execbuffer2*)ctx[2];
  struct gpuprof_drm_submission submission = {.kind = GPUPROF_DRM_CONTEXT};
  submission.id = (__u32)BPF_CORE_READ(exec, rsvd1);
  if (config.batches && is_recorded()) {
    submission.batch = new_batch_id();
    submission.vm = vm_of_context(number_of(ctx[1]), submission.id);
  }
  begin_submission((const struct drm_file*)ctx[1], &submission);
  return 0;
}

SEC("fexit")
int on_i915_exec_end(__u64* ctx) {
  __u64 thread = bpf_get_current_pid_tgid();
  const struct call* call = bpf_map_lookup_elem(&submissions, &thread);
  if (call && call->submission.batch && (int)ctx[4] == 0) {
    take_i915_batch(number_of(ctx[1]), &call->submission, (const void*)ctx[2], number_of(ctx[3]));
  }
  return end_submission((int)ctx[4]);
}

/* Notes the job as the last one of the thread's ioctl. Call it in the context of the thread that queues the job. */
static __always_inline void note_queued(const struct job_key* key) {
  __u64 thread = bpf_get_current_pid_tgid();
  struct call* call = bpf_map_lookup_elem(&submissions, &thread);
  if (call) {
    call->last = *key;
  }
}

static __always_inline void add_submission(struct gpuprof_drm_queued* event) {
  __u64 thread = bpf_get_current_pid_tgid();
  const struct call* call = bpf_map_lookup_elem(&submissions, &thread);
  if (!call) {
    return;
  }
  event->submission = call->submission;
  if (call->submission.kind == GPUPROF_DRM_EXEC_QUEUE) {
    struct exec_queue_key key = {call->submission.file, call->submission.id};
    const __u64* own = bpf_map_lookup_elem(&queue_contexts, &key);
    if (own && *own != event->job.context) {
      event->submission.kind = 0;
      event->submission.batch = 0;
    }
  }
}

#endif
