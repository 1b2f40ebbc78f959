/* Counts what a target lost. src/profile/loss.cpp maps these reasons to the reasons of a profile. */
#ifndef GPUPROF_WIRE_LOSS_H
#define GPUPROF_WIRE_LOSS_H

/* The reasons for losses. The target counts losses per ring, and the recorder writes them as LOSS records. */
enum gpuprof_loss {
  GPUPROF_LOSS_RING_FULL = 0,         /* records of GPU work dropped because the ring was full */
  GPUPROF_LOSS_RING_BUSY = 1,         /* records dropped because the ring's lock was not free in time */
  GPUPROF_LOSS_VENDOR_DROPPED = 2,    /* records that the vendor's library (CUPTI, ...) reported as dropped */
  GPUPROF_LOSS_INVALID_TIMESTAMP = 3, /* GPU records whose start or end is 0, or whose end is before the start */
  GPUPROF_LOSS_NO_TIMING = 4,         /* commands for which the driver reported no times */
  GPUPROF_LOSS_OUT_OF_MEMORY = 5,     /* records dropped because there was no memory for a buffer or a name */
  GPUPROF_LOSS_REENTRANT = 6,         /* calls made while the injection library was already running on the thread */
  GPUPROF_LOSS_UNFINISHED = 7,        /* GPU work that ended after the recording of the target */
  GPUPROF_LOSS_RANGE_LIMIT = 8,       /* launches whose NVTX ranges do not have the program's names */
  GPUPROF_LOSS_STACK = 9,        /* launches not reported, or without a stack because it was not taken or not sent */
  GPUPROF_LOSS_DETAIL = 10,      /* other records (name, call, ...) that did not fit into the ring or came too late */
  GPUPROF_LOSS_KERNEL_NAME = 11, /* kernels whose module was unloaded before their name could be read */
  /* Calls of functions that the vendor's library does not know; they may run GPU work. */
  GPUPROF_LOSS_UNKNOWN_FUNCTION = 12,
  GPUPROF_LOSS_COUNT,     /* number of reasons in use; new reasons come before it */
  GPUPROF_LOSS_KINDS = 16 /* capacity of the counter array */
};

#endif
