/*
 * What a target counts as lost. The table in src/profile/loss.cpp says which reason of a profile each one is.
 */
#ifndef GPUPROF_WIRE_LOSS_H
#define GPUPROF_WIRE_LOSS_H

/* Why something is missing. Counted per ring; the recorder turns them into LOSS records. */
enum gpuprof_loss {
  GPUPROF_LOSS_RING_FULL = 0,         /* a record of GPU work did not fit into the ring */
  GPUPROF_LOSS_RING_BUSY = 1,         /* the ring's lock could not be had in bounded time */
  GPUPROF_LOSS_VENDOR_DROPPED = 2,    /* the vendor library (CUPTI, ...) says that it dropped records */
  GPUPROF_LOSS_INVALID_TIMESTAMP = 3, /* a GPU record with start 0, end 0 or end < start */
  GPUPROF_LOSS_NO_TIMING = 4,         /* a command for which the driver gave no profiling times */
  GPUPROF_LOSS_OUT_OF_MEMORY = 5,     /* no memory for a buffer or a name */
  GPUPROF_LOSS_REENTRANT = 6,         /* seen while our own code was already running on the thread */
  GPUPROF_LOSS_UNFINISHED = 7,        /* GPU work still running when the target ended */
  GPUPROF_LOSS_RANGE_LIMIT = 8,       /* launches in more NVTX ranges than are kept apart */
  GPUPROF_LOSS_STACK = 9,   /* launches that could not be told of, or whose stack could not be taken or handed over */
  GPUPROF_LOSS_DETAIL = 10, /* a record of something else that did not fit, or not in time: a name, a call, ... */
  GPUPROF_LOSS_KERNEL_NAME = 11, /* kernels whose name went with their module before it could be read */
  GPUPROF_LOSS_USED,             /* one more than the last: a new reason goes above */
  GPUPROF_LOSS_KINDS = 16        /* the room for them */
};

#endif
