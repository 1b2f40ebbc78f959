/*
 * What bpf/drm.bpf.c tells of the jobs of the kernel's GPU schedulers, through a BPF ring buffer, beside the stacks of
 * wire/bpf_events.h. Plain C without libc, included by both.
 */
#ifndef GPUPROF_WIRE_DRM_EVENTS_H
#define GPUPROF_WIRE_DRM_EVENTS_H

#include "wire/batch_scan.h"
#include "wire/bpf_events.h"

enum gpuprof_drm_event_type {
  GPUPROF_DRM_QUEUED = 64, /* a gpuprof_drm_queued: in the submitter's context, or by a thread of the kernel */
  GPUPROF_DRM_RUN = 65,    /* a gpuprof_drm_job: handed to the hardware, by a worker of the kernel */
  GPUPROF_DRM_DONE = 66,   /* a gpuprof_drm_job: its fence was signalled, in whatever context */
  GPUPROF_DRM_BATCH =
      67, /* a gpuprof_drm_batch: before the job that it is handed over with, and again when there is more of it */
  GPUPROF_DRM_BOUND = 68, /* a gpuprof_drm_bound */
  GPUPROF_DRM_HANDED = 69 /* a gpuprof_drm_handed: after the call that has queued the job */
};

/* A job is named by the fence that says that it is finished: the kernel never uses a context a second time. */
struct gpuprof_drm_job {
  gpuprof_u32 type;
  gpuprof_u32 failed; /* DONE: 1 where the fence says that there was an error */
  gpuprof_u64 context;
  gpuprof_u64 seqno;
  gpuprof_u64 time_ns; /* CLOCK_MONOTONIC */
};

/* What a job was handed to, by its driver's own number. Only of jobs that are queued in an ioctl of xe or i915. */
enum gpuprof_drm_submission_kind {
  GPUPROF_DRM_EXEC_QUEUE = 1, /* of xe */
  GPUPROF_DRM_CONTEXT = 2     /* of i915 */
};
struct gpuprof_drm_submission {
  gpuprof_u32 kind; /* 0: none is known */
  gpuprof_u32 id;   /* of that kind, in the open file */
  gpuprof_u32 vm;   /* of an exec queue; 0: it was made before the recording began */
  gpuprof_u32 pad;
  gpuprof_u64 file;   /* what tells open files apart */
  gpuprof_u64 client; /* fdinfo's drm-client-id, of any kind; 0: not known */
  gpuprof_u64 batch;  /* of a gpuprof_drm_batch; 0: it was not looked at */
};

/* Which kernels a batch for xe or i915 starts. */
struct gpuprof_drm_batch {
  gpuprof_u32 type;
  gpuprof_u32 state; /* enum gpuprof_batch_state */
  gpuprof_u64 id;
  gpuprof_u64 file; /* as in gpuprof_drm_submission */
  gpuprof_u64 base; /* instruction base address; 0: the batch sets none, and has that of the one before on its queue */
  gpuprof_u32 vm;
  gpuprof_u32 queue;
  gpuprof_u32 count;
  gpuprof_u32 pad;
  gpuprof_u64 starts[GPUPROF_BATCH_KERNELS]; /* as in gpuprof_batch_scan */
};

/* The job that runs a batch: the last one that was queued in the call. Those before it are the driver's own. */
struct gpuprof_drm_handed {
  gpuprof_u32 type;
  gpuprof_u32 pad;
  gpuprof_u64 batch; /* of a gpuprof_drm_batch */
  gpuprof_u64 context;
  gpuprof_u64 seqno;
};

/* Something else, or nothing, is at these addresses of a VM from now on. */
#define GPUPROF_DRM_ALL_VMS 0xffffffffu
struct gpuprof_drm_bound {
  gpuprof_u32 type;
  gpuprof_u32 vm; /* or GPUPROF_DRM_ALL_VMS: the file is closed */
  gpuprof_u64 file;
  gpuprof_u64 address;
  gpuprof_u64 bytes;
};

#define GPUPROF_DRM_RING_BYTES 32
#define GPUPROF_DRM_DEVICE_BYTES 32
#define GPUPROF_DRM_DRIVER_BYTES 16
struct gpuprof_drm_queued {
  struct gpuprof_drm_job job;
  gpuprof_u64 stack; /* of a gpuprof_bpf_stack that has been sent before; 0: none */
  gpuprof_u64 image; /* another one for each program that has run under this pid */
  struct gpuprof_drm_submission submission;
  gpuprof_u64 scheduler; /* what tells rings apart that have the same name */
  gpuprof_u32 pid;       /* as the recorder's pid namespace has them; 0: a thread of the kernel, for a client */
  gpuprof_u32 tid;
  char thread[16];                       /* its name. All four texts end with a NUL, unless they fill their place */
  char ring[GPUPROF_DRM_RING_BYTES];     /* of the scheduler: "gfx_0.0.0", "rcs0" */
  char device[GPUPROF_DRM_DEVICE_BYTES]; /* as on its bus: "0000:03:00.0"; empty: not known */
  char driver[GPUPROF_DRM_DRIVER_BYTES]; /* "amdgpu"; empty: not known */
};

/* Index into the per-CPU map `job_counts`. */
enum gpuprof_drm_count {
  GPUPROF_DRM_LOST_QUEUED = 0,   /* a job of ours that could not be told of: the ring buffer or the table was full */
  GPUPROF_DRM_OF_KERNEL = 1,     /* jobs that a thread of the kernel has queued for no client that it names */
  GPUPROF_DRM_LOST_TIMES = 2,    /* RUN and DONE that found the ring buffer full */
  GPUPROF_DRM_LOST_BATCHES = 3,  /* BATCH, BOUND and HANDED that found it full: kernels that are not known */
  GPUPROF_DRM_LOST_BINDINGS = 4, /* that the table had no room for */
  GPUPROF_DRM_GIVEN_UP = 5,      /* batches that were not complete, and are looked at no more */
  GPUPROF_DRM_COUNTS = 6
};

/* Indices into the map `numbers`: the last number of each kind. */
enum gpuprof_drm_number {
  GPUPROF_DRM_NUMBER_OF_SPACE = 0,
  GPUPROF_DRM_NUMBER_OF_BINDING = 1,
  GPUPROF_DRM_NUMBER_OF_FILE = 2,
  GPUPROF_DRM_NUMBER_OF_OBJECT = 3,
  GPUPROF_DRM_NUMBERS = 4
};

/* A VM: key of the map `spaces`, whose value is its number. The recorder removes the blocks of those that are gone. */
struct gpuprof_drm_space_key {
  gpuprof_u64 file; /* its number */
  gpuprof_u32 vm;
  gpuprof_u32 pad;
};

/* A block of addresses: key of the map `bindings`. The longest prefix is the smallest block. */
struct gpuprof_drm_binding_key {
  gpuprof_u32 prefix;  /* bits */
  gpuprof_u32 space;   /* its number */
  gpuprof_u64 address; /* big-endian */
};

#endif /* GPUPROF_WIRE_DRM_EVENTS_H */
