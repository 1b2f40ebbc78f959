/*
 * Reports jobs of the kernel's GPU drivers: who queued them, from where, and when they were submitted to the hardware
 * and finished. Covers all drivers that use the kernel's GPU scheduler (drivers/gpu/drm/scheduler), and i915, which has
 * its own.
 *
 * The programs are raw tracepoints and read the drivers' structs by BTF. Programs on trace events would not need BTF.
 * But the kernel skips such a program on a CPU that already runs one, so it would miss interrupts that end jobs. Up to
 * Linux 6.16 the tracepoints are drm_sched_job, drm_run_job and drm_sched_process_job. Since 6.17 they are
 * drm_sched_job_queue, _run and _done, with the same arguments.
 *
 * The programs follow jobs that recorded processes queue. They also follow jobs that a kernel thread queues for a named
 * client; the recorder finds the process that owns the client. Events do not wake the recorder, which polls.
 */
/* The order matters: bpf_helpers.h uses types of vmlinux_min.h without including it. */
/* clang-format off */
#include "vmlinux_min.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
/* clang-format on */

#include "jobs/drm_counts.h"
#include "jobs/drm_types.h"
#include "jobs/submitter.h"
#include "launch_events.h"
#include "loader.h"
#include "python_threads.h"
#include "stack_of_kernel.h"
#include "wire/drm_events.h"
/* The order matters: each of these headers uses the headers above it. */
/* clang-format off */
#include "jobs/gpu_bindings.h"
#include "jobs/batch_buffers.h"
#include "jobs/xe_batches.h"
#include "jobs/i915_batches.h"
#include "jobs/drm_submission.h"
/* clang-format on */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Unfinished jobs of recorded processes. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, struct job_key);
  __type(value, __u8);
} followed SEC(".maps");

static __always_inline struct job_key key_of(const struct dma_fence* fence) {
  struct job_key key = {BPF_CORE_READ(fence, context), BPF_CORE_READ(fence, seqno)};
  return key;
}

/* The last program that submitted work under a pid. */
struct image {
  __u64 image;
  __u64 since_ns; /* time of the program's first submission; tables read before it belong to an earlier program */
  __u64 asked_ns;
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, GPUPROF_BPF_MAX_PROCESSES);
  __type(key, __u32); /* pid */
  __type(value, struct image);
} images SEC(".maps");

#define ASK_INTERVAL_NS 10000000

/* Returns the process's unwind tables. Returns null until the recorder has built them, which it starts after the
 * process's first submission. */
static __always_inline const struct gpuprof_bpf_process* tables_of(const struct submitter* submitter) {
  __u64 now = bpf_ktime_get_ns();
  __u32 pid = submitter->pid;
  struct image* known = bpf_map_lookup_elem(&images, &pid);
  if (!known || known->image != submitter->image) {
    struct image image = {submitter->image, now, 0};
    bpf_map_update_elem(&images, &pid, &image, BPF_ANY);
    return 0;
  }
  const struct gpuprof_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (!process || process->number == 0) {
    return 0;
  }
  if (process->read_ns >= known->since_ns) {
    return process;
  }
  if (now - known->asked_ns > ASK_INTERVAL_NS) {
    known->asked_ns = now;
    send_loader_event(pid);
  }
  return 0;
}

/* Returns the id of the stack: user frames at the system call, then kernel frames. 0: the stack was not captured. */
static __always_inline __u64 user_and_kernel_stack(void* ctx, const struct submitter* submitter) {
  struct slot* slot = take_slot_of(&slots);
  if (!slot) {
    count_loss(GPUPROF_BPF_LOST_READ);
    return 0;
  }
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  const struct gpuprof_bpf_process* process = tables_of(submitter);
  __u64 failed = 0;
  __u64 thread = process ? find_thread(process, &failed) : 0;
  struct walk_from from = {submitter->pid, 0, mix(submitter->pid, submitter->image), thread};
  walk_stack(regs, slot, &from, process);
  add_kernel_stack(ctx, slot);
  __u64 id = stack_id(slot, submitter->pid);
  release_slot(slot);
  return id;
}

static __always_inline void name_device(const struct device* device, struct gpuprof_drm_queued* event) {
  const char* name = BPF_CORE_READ(device, init_name);
  if (!name) {
    name = BPF_CORE_READ(device, kobj.name);
  }
  bpf_probe_read_kernel_str(event->device, sizeof(event->device), name);
  bpf_probe_read_kernel_str(event->driver, sizeof(event->driver), BPF_CORE_READ(device, driver, name));
}

struct queue {
  const void* scheduler; /* distinguishes rings with equal names */
  const char* ring;
  const struct device* device;
  __u64 client; /* the client that owns the job; 0: unknown */
};

/* Runs in the context of the thread that queues the job. `fence`: signals the end of the job. */
static __always_inline void on_queued(void* ctx, const struct dma_fence* fence, const struct queue* queue) {
  __u64 now = bpf_ktime_get_ns();
  struct submitter submitter = {};
  enum submitter_kind kind = find_submitter(&submitter);
  if (kind == SUBMITTER_KERNEL && !queue->client) {
    count_job(GPUPROF_DRM_OF_KERNEL);
    return;
  }
  if (kind == SUBMITTER_OTHER) {
    return;
  }
  struct job_key key = key_of(fence);
  note_queued(&key);
  __u64 stack = kind == SUBMITTER_RECORDED ? user_and_kernel_stack(ctx, &submitter) : 0;
  struct gpuprof_drm_queued* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count_job(GPUPROF_DRM_LOST_QUEUED);
    return;
  }
  __u8 one = 1;
  if (bpf_map_update_elem(&followed, &key, &one, BPF_ANY) != 0) {
    count_job(GPUPROF_DRM_LOST_QUEUED);
    bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
    return;
  }
  __builtin_memset(event, 0, sizeof(*event));
  event->job.type = GPUPROF_DRM_QUEUED;
  event->job.context = key.context;
  event->job.seqno = key.seqno;
  event->job.time_ns = now;
  event->stack = stack;
  event->image = submitter.image;
  event->scheduler = (__u64)queue->scheduler;
  event->pid = submitter.pid;
  event->tid = submitter.tid;
  if (kind == SUBMITTER_RECORDED) {
    __u64 user = bpf_get_current_uid_gid();
    event->uid = (__u32)user;
    event->gid = user >> 32;
    bpf_get_current_comm(event->thread, sizeof(event->thread));
  }
  bpf_probe_read_kernel_str(event->ring, sizeof(event->ring), queue->ring);
  add_submission(event);
  if (queue->client) {
    event->submission.client = queue->client;
  }
  if (queue->device) {
    name_device(queue->device, event);
  }
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void tell(__u32 type, const struct job_key* key, __u64 now, __u32 end) {
  struct gpuprof_drm_job* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    count_job(GPUPROF_DRM_LOST_TIMES); /* The recorder then counts the job as a job without times. */
    return;
  }
  event->type = type;
  event->end = end;
  event->context = key->context;
  event->seqno = key->seqno;
  event->time_ns = now;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void on_run(const struct dma_fence* fence) {
  __u64 now = bpf_ktime_get_ns();
  struct job_key key = key_of(fence);
  if (bpf_map_lookup_elem(&followed, &key)) {
    tell(GPUPROF_DRM_RUN, &key, now, 0);
  }
}

/* `if_good`: how the job ended unless the fence has an error. */
static __always_inline void on_done(const struct dma_fence* fence, __u32 if_good) {
  __u64 now = bpf_ktime_get_ns();
  struct job_key key = key_of(fence);
  if (bpf_map_delete_elem(&followed, &key) == 0) {
    tell(GPUPROF_DRM_DONE, &key, now, BPF_CORE_READ(fence, error) ? GPUPROF_DRM_FAILED : if_good);
  }
}

/* Programs for the kernel's GPU scheduler. Arguments: (struct drm_sched_job*, struct drm_sched_entity*), except for
 * on_scheduler_done(): (struct drm_sched_fence*). */

SEC("raw_tp")
int on_scheduler_queue(struct bpf_raw_tracepoint_args* ctx) {
  const struct drm_sched_job* job = (const struct drm_sched_job*)ctx->args[0];
  const struct drm_gpu_scheduler* scheduler = BPF_CORE_READ(job, sched);
  struct queue queue = {scheduler, BPF_CORE_READ(scheduler, name), 0, 0};
  if (bpf_core_field_exists(scheduler->dev)) {
    queue.device = BPF_CORE_READ(scheduler, dev);
  }
  const struct drm_sched_fence* fence = BPF_CORE_READ(job, s_fence);
  if (bpf_core_field_exists(fence->drm_client_id)) {
    queue.client = BPF_CORE_READ(fence, drm_client_id);
  }
  on_queued(ctx, &fence->finished, &queue);
  return 0;
}

SEC("raw_tp")
int on_scheduler_run(struct bpf_raw_tracepoint_args* ctx) {
  const struct drm_sched_job* job = (const struct drm_sched_job*)ctx->args[0];
  on_run(&BPF_CORE_READ(job, s_fence)->finished);
  return 0;
}

/* Runs before the job's fence is signaled, and only for jobs that were given to the driver. */
SEC("raw_tp")
int on_scheduler_done(struct bpf_raw_tracepoint_args* ctx) {
  const struct drm_sched_fence* fence = (const struct drm_sched_fence*)ctx->args[0];
  on_done(&fence->finished, BPF_CORE_READ(fence, parent) ? GPUPROF_DRM_FINISHED : GPUPROF_DRM_NO_FENCE);
  return 0;
}

/* Runs when any fence is signaled. The scheduler drops the jobs of a killed process without running them; this
 * program ends such jobs, too. */
SEC("raw_tp")
int on_fence_signaled(struct bpf_raw_tracepoint_args* ctx) {
  on_done((const struct dma_fence*)ctx->args[0], GPUPROF_DRM_FINISHED);
  return 0;
}

/* Programs for i915, which has its own scheduler. Arguments: (struct i915_request*). on_i915_submit() is attached to
 * __i915_request_submit(), because few kernels have a tracepoint there. A request ends when its fence is signaled. */

SEC("raw_tp")
int on_i915_queue(struct bpf_raw_tracepoint_args* ctx) {
  const struct i915_request* request = (const struct i915_request*)ctx->args[0];
  const struct intel_engine_cs* engine = BPF_CORE_READ(request, engine);
  struct queue queue = {engine, engine->name, BPF_CORE_READ(request, i915, drm.dev), 0};
  on_queued(ctx, &request->fence, &queue);
  return 0;
}

SEC("fentry")
int on_i915_submit(__u64* ctx) {
  on_run(&((const struct i915_request*)ctx[0])->fence);
  return 0;
}
