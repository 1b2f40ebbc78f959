/* Events about jobs of the kernel's GPU schedulers, which bpf/drm.bpf.c sends through a BPF ring buffer together with
 * the stacks of wire/bpf_events.h. Plain C without libc. */
#ifndef GPUPROF_WIRE_DRM_EVENTS_H
#define GPUPROF_WIRE_DRM_EVENTS_H

#include "wire/batch_scan.h"
#include "wire/bpf_events.h"

enum gpuprof_drm_event_type {
  GPUPROF_DRM_QUEUED = 64, /* gpuprof_drm_queued: the submitting thread or a kernel thread has queued a job */
  GPUPROF_DRM_RUN = 65,    /* gpuprof_drm_job: a kernel worker has given the job to the hardware */
  GPUPROF_DRM_DONE = 66,   /* gpuprof_drm_job: the job's fence was signalled */
  /* gpuprof_drm_batch: sent before the job that submits the batch (i915: after it), and again when more kernels of the
   * batch are known */
  GPUPROF_DRM_BATCH = 67,
  GPUPROF_DRM_BOUND = 68,      /* gpuprof_drm_bound: addresses of a VM were bound to something else, or unbound */
  GPUPROF_DRM_SUBMITTED = 69,  /* gpuprof_drm_submitted: sent after the system call that queued the job */
  GPUPROF_DRM_QUEUE_ENDED = 70 /* gpuprof_drm_queue_ended: xe stops the work of an exec queue */
};

/* How a job ended. */
enum gpuprof_drm_end {
  GPUPROF_DRM_FINISHED = 0,
  GPUPROF_DRM_FAILED = 1, /* the fence has an error */
  /* The driver gave Linux's scheduler no fence of the hardware, so the scheduler ended the job when it began. */
  GPUPROF_DRM_NO_FENCE = 2
};

/* The finished fence (context, seqno) identifies a job. The kernel never reuses a fence context. */
struct gpuprof_drm_job {
  gpuprof_u32 type;
  gpuprof_u32 end; /* only in DONE: enum gpuprof_drm_end */
  gpuprof_u64 context;
  gpuprof_u64 seqno;
  gpuprof_u64 time_ns; /* CLOCK_MONOTONIC */
};

/* The object to which a job was submitted. It is known only for jobs that an ioctl of xe or i915 queues. */
enum gpuprof_drm_submission_kind { GPUPROF_DRM_EXEC_QUEUE = 1, GPUPROF_DRM_CONTEXT = 2 };
struct gpuprof_drm_submission {
  gpuprof_u32 kind; /* enum gpuprof_drm_submission_kind; 0: unknown */
  gpuprof_u32 id;   /* the driver's id; it is unique per kind and open file */
  gpuprof_u32 vm;   /* VM of an exec queue; 0: the queue was created before the recording began */
  gpuprof_u32 pad;
  gpuprof_u64 file;   /* identifies the open file */
  gpuprof_u64 client; /* drm-client-id of the fdinfo, valid for every kind; 0: unknown */
  gpuprof_u64 batch;  /* id of a gpuprof_drm_batch; 0: the batch was not scanned */
};

/* The kernels that a batch for xe or i915 starts. */
struct gpuprof_drm_batch {
  gpuprof_u32 type;
  gpuprof_u32 state; /* enum gpuprof_batch_state */
  gpuprof_u64 id;
  gpuprof_u64 file; /* as in gpuprof_drm_submission */
  gpuprof_u64 base; /* as in gpuprof_batch_scan; 0: not set in the batch, so the previous batch on the queue set it */
  gpuprof_u32 vm;
  gpuprof_u32 queue;
  gpuprof_u32 count;
  gpuprof_u32 unknown;                       /* as in gpuprof_batch_scan */
  gpuprof_u64 starts[GPUPROF_BATCH_KERNELS]; /* as in gpuprof_batch_scan */
};

/* Links a batch to its job, which is the last job that the ioctl queued. Any earlier jobs of the ioctl are the
 * driver's own. */
struct gpuprof_drm_submitted {
  gpuprof_u32 type;
  gpuprof_u32 pad;
  gpuprof_u64 batch; /* id of a gpuprof_drm_batch */
  gpuprof_u64 context;
  gpuprof_u64 seqno;
};

/* Says that from now on, other memory or no memory is bound at these addresses of a VM. */
#define GPUPROF_DRM_ALL_VMS 0xffffffffu
struct gpuprof_drm_bound {
  gpuprof_u32 type;
  gpuprof_u32 vm; /* GPUPROF_DRM_ALL_VMS: all VMs of the file, because it was closed */
  gpuprof_u64 file;
  gpuprof_u64 address;
  gpuprof_u64 bytes;
};

/* Says that an exec queue was destroyed, or that its file is being closed. */
struct gpuprof_drm_queue_ended {
  gpuprof_u32 type;
  gpuprof_u32 pad;
  gpuprof_u64 file;    /* as in gpuprof_drm_submission */
  gpuprof_u64 context; /* fence context of the queue's jobs; 0: all queues of the file */
  gpuprof_u64 time_ns;
};

#define GPUPROF_DRM_RING_BYTES 32
#define GPUPROF_DRM_DEVICE_BYTES 32
#define GPUPROF_DRM_DRIVER_BYTES 16
struct gpuprof_drm_queued {
  struct gpuprof_drm_job job;
  gpuprof_u64 stack; /* id of a gpuprof_bpf_stack that was sent before; 0: the job has no stack */
  gpuprof_u64 image; /* changes when the pid runs another program */
  struct gpuprof_drm_submission submission;
  gpuprof_u64 scheduler; /* identifies the scheduler, because rings of several schedulers may have the same name */
  gpuprof_u32 pid;       /* pid in the recorder's pid namespace; 0: a kernel thread queued the job for a client */
  gpuprof_u32 tid;
  gpuprof_u32 uid; /* real user and group of the submitting thread, in the initial user namespace */
  gpuprof_u32 gid;
  char thread[16];                       /* All four texts end with a NUL unless they fill their array. */
  char ring[GPUPROF_DRM_RING_BYTES];     /* name of the scheduler's ring: "gfx_0.0.0", "rcs0" */
  char device[GPUPROF_DRM_DEVICE_BYTES]; /* name on the bus: "0000:03:00.0"; empty: unknown */
  char driver[GPUPROF_DRM_DRIVER_BYTES]; /* "amdgpu"; empty: unknown */
};

/* Each value is an index in the per-CPU map `job_counts`. */
enum gpuprof_drm_count {
  GPUPROF_DRM_LOST_QUEUED = 0, /* recorded jobs dropped because the ring buffer or the table was full */
  GPUPROF_DRM_OF_KERNEL = 1,   /* jobs that a kernel thread queued without naming a client */
  GPUPROF_DRM_LOST_TIMES = 2,  /* RUN and DONE events dropped because the ring buffer was full */
  GPUPROF_DRM_LOST_BATCHES =
      3, /* BATCH, BOUND, SUBMITTED and QUEUE_ENDED events dropped because the ring buffer was full */
  GPUPROF_DRM_LOST_BINDINGS = 4, /* bindings dropped because the table was full */
  GPUPROF_DRM_GIVEN_UP = 5,      /* incomplete batches that the BPF program stopped scanning */
  /* waits of recorded processes for the GPU, although the process has submitted nothing since its last wait */
  GPUPROF_DRM_WAITS_ONLY = 6,
  GPUPROF_DRM_COUNTS = 7
};

/* Indices in the map `numbers`, which holds the last number given out of each kind. */
enum gpuprof_drm_number {
  GPUPROF_DRM_NUMBER_OF_SPACE = 0,
  GPUPROF_DRM_NUMBER_OF_BINDING = 1,
  GPUPROF_DRM_NUMBER_OF_FILE = 2,
  GPUPROF_DRM_NUMBER_OF_OBJECT = 3,
  GPUPROF_DRM_NUMBERS = 4
};

/* A VM is a key of the map `spaces`, and its number is the value. The recorder removes the address blocks of
 * destroyed VMs. */
struct gpuprof_drm_space_key {
  gpuprof_u64 file; /* number of the open file */
  gpuprof_u32 vm;
  gpuprof_u32 pad;
};

/* A block of addresses is a key of the map `bindings`. The longest matching prefix is the smallest block. */
struct gpuprof_drm_binding_key {
  gpuprof_u32 prefix;  /* length of the prefix in bits */
  gpuprof_u32 space;   /* number of the VM */
  gpuprof_u64 address; /* big-endian */
};

#endif /* GPUPROF_WIRE_DRM_EVENTS_H */
