/* What a target counts as lost. src/profile/loss.cpp maps it to the reasons of a profile. */
#ifndef GPUPROF_WIRE_LOSS_H
#define GPUPROF_WIRE_LOSS_H

/* Why something is missing. The target counts losses per ring; the recorder writes them as LOSS records. */
enum gpuprof_loss {
  GPUPROF_LOSS_RING_FULL = 0,         /* a record of GPU work was dropped because the ring was full */
  GPUPROF_LOSS_RING_BUSY = 1,         /* the ring's lock was not available within the bounded wait */
  GPUPROF_LOSS_VENDOR_DROPPED = 2,    /* the vendor library (CUPTI, ...) reported dropped records */
  GPUPROF_LOSS_INVALID_TIMESTAMP = 3, /* a GPU record with start 0, end 0 or end < start */
  GPUPROF_LOSS_NO_TIMING = 4,         /* a command for which the driver gave no profiling times */
  GPUPROF_LOSS_OUT_OF_MEMORY = 5,     /* no memory for a buffer or a name */
  GPUPROF_LOSS_REENTRANT = 6,         /* called while the injection library was already running on the thread */
  GPUPROF_LOSS_UNFINISHED = 7,        /* GPU work still running when the target ended */
  GPUPROF_LOSS_RANGE_LIMIT = 8,       /* launches in more distinct NVTX ranges than the limit */
  GPUPROF_LOSS_STACK = 9,             /* launches that were not reported, or whose stack was not taken or not sent */
  GPUPROF_LOSS_DETAIL = 10,           /* another record (name, call, ...) did not fit into the ring, or came too late */
  GPUPROF_LOSS_KERNEL_NAME = 11,      /* kernels whose module was unloaded before their name could be read */
  GPUPROF_LOSS_UNKNOWN_FUNCTION = 12, /* calls of functions that the vendor library does not know: they may run work */
  GPUPROF_LOSS_COUNT,                 /* number of reasons in use; add new reasons above */
  GPUPROF_LOSS_KINDS = 16             /* capacity of the counter array */
};

#endif
