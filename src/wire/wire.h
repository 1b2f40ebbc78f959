/* The protocol between a target and `gpuprof record`: handshake and shared-memory segment. Plain C for injection/ and
 * src/record. 64 bits, little endian. Both ends must be of the same build, which the handshake checks.
 *
 * A target connects to an abstract SOCK_SEQPACKET socket named in its environment. It continues only if the kernel
 * reports the recorder's user as the listener. It says hello, and receives a source id and a sealed memfd, which it
 * validates and maps. From then on it only writes memory: if it dies, nothing that it has written is lost. The seals
 * stop a misbehaving target from shrinking the file under the recorder.
 *
 * All times are nanoseconds of the recorder's clock: CLOCK_MONOTONIC of the initial time namespace. Sizes are bytes. */
#ifndef GPUPROF_WIRE_WIRE_H
#define GPUPROF_WIRE_WIRE_H

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): this is C, too */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers) */

#include "wire/loss.h"
#include "wire/stack.h"

/* Flexible array members are C; gcc and clang accept them in C++. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

#ifdef __cplusplus
#define GPUPROF_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define GPUPROF_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define GPUPROF_WIRE_MAGIC 0x46525047u /* "GPRF" */
#define GPUPROF_WIRE_VERSION 9u

/* Environment variables of the target. */
#define GPUPROF_ENV_SOCKET "GPUPROF_SOCKET" /* abstract socket name, without the leading NUL */
#define GPUPROF_ENV_TOKEN "GPUPROF_TOKEN"   /* 32 hex digits that prove that the recorder started this process */
/* The recorder's user id, as the recorder sees it. A target does not talk to a listener of another user. */
#define GPUPROF_ENV_UID "GPUPROF_UID"
/* CUDA_INJECTION64_PATH before the recorder replaced it. */
#define GPUPROF_ENV_NEXT_CUDA_INJECTION "GPUPROF_NEXT_CUDA_INJECTION"

/* Users may set these for the CUDA backend: path of libcupti, which API's callbacks to use, flush interval. */
#define GPUPROF_ENV_CUPTI_PATH "GPUPROF_CUPTI_PATH"
#define GPUPROF_ENV_CUPTI_DOMAINS "GPUPROF_CUPTI_DOMAINS"
#define GPUPROF_ENV_CUPTI_FLUSH_MS "GPUPROF_CUPTI_FLUSH_MS"
/* Limits of GPUPROF_CUPTI_FLUSH_MS, in milliseconds. */
#define GPUPROF_FLUSH_MS_MIN 10
#define GPUPROF_FLUSH_MS_MAX 1000

/* How long a target waits. The recorder's own time-outs depend on these (record/session/timing.h). */
#define GPUPROF_HANDSHAKE_WAIT_NS 2000000000ull /* for an answer of the recorder */
/* A target does not wait for a recorder that has not polled for this long. */
#define GPUPROF_RECORDER_ALIVE_NS 1000000000ull
/* After this long without a poll, the recorder was killed or stopped. */
#define GPUPROF_RECORDER_GONE_NS (10 * GPUPROF_RECORDER_ALIVE_NS)
#define GPUPROF_IDLE_FLUSH_NS 1000000000ull /* finished work is sent after at most this time */
#define GPUPROF_LEAVE_WAIT_NS 2000000000ull /* for the vendor's library to finish before detaching */

/* Longest interval between two polls of the recorder. Each poll updates the heartbeat. */
#define GPUPROF_POLL_NS 20000000ull

/* ---- handshake ------------------------------------------------------------------------------------------- */

struct gpuprof_hello {
  uint32_t magic;
  uint32_t version;
  char token[32];
  char backend[16];                    /* "cupti", "opencl", ...; NUL padded */
  uint64_t image;                      /* reserved, 0 */
  struct gpuprof_python_layout python; /* interpreter of the process; version 0: no Python, or not loaded yet */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_python_layout) == 88, "python layout");
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_hello) == 64 + 88, "hello layout");

/* The recorder's answer, sent with the memfd as SCM_RIGHTS. */
struct gpuprof_welcome {
  uint32_t magic;
  uint32_t version;
  uint32_t source_id; /* never 0, unique in the session; one per process image and injection library */
  uint32_t segment_bytes;
  int64_t clock_offset_ns; /* CLOCK_REALTIME - the recorder's clock, as in clock_offset.h; 0: the target's clock is the
                              recorder's */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_welcome) == 24, "welcome layout");

/* ---- segment --------------------------------------------------------------------------------------------- */

#define GPUPROF_RING_COUNT 8u
#define GPUPROF_RING_BYTES (4u << 20) /* power of two */

/* Bits of gpuprof_segment.control, written by the recorder. */
#define GPUPROF_CONTROL_ENABLED 1u        /* record; cleared to pause */
#define GPUPROF_CONTROL_LAUNCH_RECORDS 2u /* emit GPUPROF_RECORD_LAUNCH for each launch: no BPF program does */
/* The recorder stops soon: flush what the vendor library holds, then set gpuprof_segment.flushed. */
#define GPUPROF_CONTROL_FLUSH 4u
#define GPUPROF_CONTROL_CALLS 8u    /* emit GPUPROF_RECORD_CALL for each call, GPUPROF_RECORD_SPAN for each range */
#define GPUPROF_CONTROL_RETRACT 16u /* leave the process (record -p): undo all instrumentation */

/* Bits of gpuprof_options.flags, set by the recorder before the target gets the segment. */
#define GPUPROF_OPTION_LATENCY 1u      /* ask the vendor's library when work was queued and submitted */
#define GPUPROF_OPTION_WHOLE_GRAPHS 2u /* one GPU_OP for a graph launch instead of one for each node: cheaper */
#define GPUPROF_OPTION_ATTACHED 4u     /* loaded into a running process: earlier setup is unknown */
#define GPUPROF_OPTION_STACKS 8u       /* walk stacks in the process: send STACK and CODE records, set LAUNCH.stack */
#define GPUPROF_OPTION_SAMPLES 16u     /* sample inside kernels: send SAMPLES, SAMPLE_WINDOW and code */
#define GPUPROF_OPTION_EXACT 32u       /* with SAMPLES: only chosen kernels, one launch at a time (SAMPLED_LAUNCH) */
#define GPUPROF_OPTION_COUNTS 128u     /* count instructions: send COUNT records and code; no GPU work is reported */
/* With GPUPROF_OPTION_SAMPLES: the recorder takes the samples itself, so send only code and GPU_KERNEL records. */
#define GPUPROF_OPTION_CODE_ONLY 256u
#define GPUPROF_OPTION_ALL_KERNELS 64u /* all kernels are chosen; gpuprof_segment.chosen is ignored */

#define GPUPROF_ALL_STACKS 65536u /* gpuprof_segment.stack_share: every launch gets a stack */

/* Values of gpuprof_segment.state, written by the target. */
enum gpuprof_state {
  GPUPROF_STATE_STARTING = 0,
  GPUPROF_STATE_ACTIVE = 1,
  GPUPROF_STATE_FINISHED = 2, /* flushed and closed at a normal exit */
  GPUPROF_STATE_DISABLED = 3  /* profiling disabled itself; `reason` explains why */
};

/* Events that are not losses but are needed to check that nothing is missing. Counted per ring. */
enum gpuprof_count {
  GPUPROF_COUNT_CAPTURED = 0,  /* launches that became a graph node and ran nothing themselves */
  GPUPROF_COUNT_FAILED = 1,    /* launches that the vendor's library refused with an error */
  GPUPROF_COUNT_UNSAMPLED = 2, /* launches without a stack because of gpuprof_segment.stack_share */
  GPUPROF_COUNT_OUTSIDE = 3,   /* GPU work ignored because its launch was outside of options.nvtx_range */
  GPUPROF_COUNT_GPU_OPS = 4,   /* GPU_OP records sent, or lost because the ring was full */
  GPUPROF_COUNTS = 8
};

/* A ring buffer. Bytes [tail, head) are readable. Positions never wrap; take them modulo GPUPROF_RING_BYTES. A thread
 * may write while it holds `lock`; threads are distributed over the rings. A record never wraps: a GPUPROF_RECORD_PAD
 * fills the end. */
struct gpuprof_ring {
  uint64_t head;             /* written by the target, release */
  uint64_t launches;         /* calls that put work on a GPU */
  uint64_t overhead_samples; /* launches whose own cost was measured (a sample) */
  uint64_t overhead_ns;      /* sum of the measured costs: callbacks and probe, including trap and BPF program */
  uint32_t lock;             /* 0 free, 1 held */
  uint32_t pad0;
  uint64_t handover_ns; /* time in which threads of the vendor library handed over batches of records */
  uint64_t pad1[2];
  uint64_t tail; /* written by the recorder, release */
  uint64_t pad2[7];
  uint64_t lost[GPUPROF_LOSS_KINDS];
  uint64_t counts[GPUPROF_COUNTS];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_ring) == 320, "ring layout");

struct gpuprof_options {
  uint32_t flags;           /* GPUPROF_OPTION_* */
  uint32_t sampling_period; /* cycles between samples, a power of two; 0: the vendor library's default */
  char nvtx_range[120];     /* "NAME" or "NAME@DOMAIN": record only launches inside this range; empty: record all */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_options) == 128, "options layout");

#define GPUPROF_MAX_COUNTED 1024u
#define GPUPROF_CHOSEN_NAMES 8192u /* kernels with higher name ids are never chosen */

struct gpuprof_segment {
  uint32_t magic;
  uint32_t version;
  uint32_t source_id;
  uint32_t control;      /* GPUPROF_CONTROL_*, atomic */
  uint32_t state;        /* enum gpuprof_state, atomic */
  uint32_t flushed;      /* set to 1 by the target after GPUPROF_CONTROL_FLUSH, atomic */
  uint64_t heartbeat_ns; /* the recorder's last poll; an old value means that the recorder is gone */
  char reason[216];      /* NUL terminated; valid once state is GPUPROF_STATE_DISABLED */
  uint32_t stack_share;  /* share of launches that get a stack, chosen at random, in 1/65536; atomic, written by the
                            recorder */
  uint32_t pad;
  struct gpuprof_options options;
  uint32_t exact_every; /* with GPUPROF_OPTION_EXACT: sample every n-th launch of a chosen kernel */
  uint32_t exact_share; /* with GPUPROF_OPTION_EXACT: limit of the time spent on sampled launches, in 1/65536 */
  uint64_t pad2[15];
  struct gpuprof_ring rings[GPUPROF_RING_COUNT];
  /* Kernels that the user chose: one bit per name id. The recorder writes them as it learns names: first the bit in
   * `chosen`, then (with release order) the bit in `decided`. */
  uint64_t chosen[GPUPROF_CHOSEN_NAMES / 64];
  uint64_t decided[GPUPROF_CHOSEN_NAMES / 64];
  char counted[GPUPROF_MAX_COUNTED]; /* with GPUPROF_OPTION_COUNTS: the vendor's metric names, separated by ',' */
  /* GPUPROF_RING_COUNT data areas of GPUPROF_RING_BYTES follow at GPUPROF_SEGMENT_DATA_OFFSET. */
};
GPUPROF_STATIC_ASSERT(offsetof(struct gpuprof_segment, rings) == 512, "segment layout");

#define GPUPROF_SEGMENT_DATA_OFFSET 8192u
#define GPUPROF_SEGMENT_BYTES (GPUPROF_SEGMENT_DATA_OFFSET + GPUPROF_RING_COUNT * GPUPROF_RING_BYTES)
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_segment) <= GPUPROF_SEGMENT_DATA_OFFSET, "rings fit before the data");

/* ---- records --------------------------------------------------------------------------------------------- */

enum gpuprof_record_type {
  GPUPROF_RECORD_PAD = 0,
  GPUPROF_RECORD_NAME = 1,
  GPUPROF_RECORD_DEVICE = 2,
  GPUPROF_RECORD_GPU_OP = 3,
  GPUPROF_RECORD_LAUNCH = 4,
  GPUPROF_RECORD_META = 5,
  GPUPROF_RECORD_HOST_OP = 6,
  GPUPROF_RECORD_GRAPH_NODE = 7,
  GPUPROF_RECORD_RANGE = 8,
  GPUPROF_RECORD_CALL = 9,
  GPUPROF_RECORD_SPAN = 10,
  GPUPROF_RECORD_STACK = 11,
  GPUPROF_RECORD_CODE = 12,
  GPUPROF_RECORD_PYTHON = 13,
  GPUPROF_RECORD_MODULE = 14,
  GPUPROF_RECORD_MAPPINGS = 15,
  GPUPROF_RECORD_GRAPH_LAUNCH = 16,
  GPUPROF_RECORD_SAMPLES = 17,
  GPUPROF_RECORD_SAMPLE_WINDOW = 18,
  GPUPROF_RECORD_SAMPLED_LAUNCH = 19,
  GPUPROF_RECORD_COUNT = 20,
  GPUPROF_RECORD_GPU_KERNEL = 21,
  GPUPROF_RECORD_TYPES = 22
};

struct gpuprof_record {
  uint16_t type; /* enum gpuprof_record_type; the recorder skips and counts unknown types */
  uint16_t pad;
  uint32_t bytes; /* size of the record including this header; a multiple of 8 */
};

/* Longest text that is sent. A longer one is cut at a character boundary and ends in "...". */
#define GPUPROF_WIRE_MAX_TEXT 65536u

/* Name of a kernel whose real name can no longer be read. */
#define GPUPROF_UNKNOWN_KERNEL "[kernel name not known]"

/* Gives a text an id. Ids belong to the source; id 0 is "no name". Sent before the first use in the same ring. If
 * another thread uses the id, the record may be in any ring: the recorder waits for names that have not arrived. */
struct gpuprof_name {
  struct gpuprof_record header;
  uint32_t id;
  uint32_t length; /* length of `text`, which has no terminator */
  char text[];
};

struct gpuprof_device {
  struct gpuprof_record header;
  uint32_t device; /* index within the source */
  uint32_t name_id;
  uint32_t uuid_id; /* name id of a text that identifies the device in all processes; 0: unknown */
  uint32_t pad;
};

/* Bits of correlation ids. Ids of launches come from the vendor and are below 2^61. Other calls that need a stack use
 * the same probe, with one of these bits and separately counted ids. */
#define GPUPROF_CORRELATION_HOST (1ull << 63) /* a call that waits or allocates (HOST_OP) */
#define GPUPROF_CORRELATION_NODE (1ull << 62) /* creation of a graph node: the other bits are its id */
/* Only in a GPU_OP whose launch is unknown: the low 32 bits are the id of the executable graph (see GRAPH_LAUNCH). */
#define GPUPROF_CORRELATION_EXEC (1ull << 61)

enum gpuprof_op {
  GPUPROF_OP_KERNEL = 0,
  GPUPROF_OP_COPY_HTOD = 1,
  GPUPROF_OP_COPY_DTOH = 2,
  GPUPROF_OP_COPY_DTOD = 3,
  GPUPROF_OP_COPY_HTOH = 4,
  GPUPROF_OP_COPY_PTOP = 5,
  GPUPROF_OP_COPY = 6, /* unknown direction */
  GPUPROF_OP_FILL = 7, /* memset, fill */
  GPUPROF_OP_OTHER = 8,
  GPUPROF_OP_GRAPH = 9, /* a complete graph launch (GPUPROF_OPTION_WHOLE_GRAPHS) or OpenCL command buffer */
  GPUPROF_OPS = 10
};

/* A finished work item. */
struct gpuprof_gpu_op {
  struct gpuprof_record header;
  uint64_t correlation; /* the launch's id, unique in the source; or GPUPROF_CORRELATION_EXEC | id */
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t queued_ns;    /* 0: unknown */
  uint64_t submitted_ns; /* 0: unknown */
  uint64_t bytes;        /* copied or filled; 0 for kernels */
  uint64_t stream;       /* stream or queue */
  uint32_t name_id;      /* kernel name; 0 for copies and fills */
  uint32_t device;
  uint16_t op; /* enum gpuprof_op */
  uint16_t flags;
  uint32_t context;
  uint64_t graph_node; /* id of the node in a graph launch; 0: not a graph launch */
  uint32_t tid;        /* thread of the launch; only with GPUPROF_GPU_OP_UNSAMPLED, else 0 */
  uint32_t range;      /* RANGE of the launch; only with GPUPROF_GPU_OP_UNSAMPLED, else 0 */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_gpu_op) == 96, "gpu op layout");
#define GPUPROF_GPU_OP_MORE 1u      /* more work items with this correlation id may follow (nodes of a graph launch) */
#define GPUPROF_GPU_OP_UNSAMPLED 2u /* the launch was not chosen for a stack (stack_share): no stack will arrive */
#define GPUPROF_GPU_OP_OUTSIDE 4u   /* in GRAPH_LAUNCH only: outside of options.nvtx_range, to be ignored */

/* A launch, from the launching thread. Only with GPUPROF_CONTROL_LAUNCH_RECORDS. */
struct gpuprof_launch {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t time_ns;
  uint32_t tid;    /* thread id in the target's pid namespace */
  uint32_t range;  /* id of a RANGE; 0: outside of all ranges */
  char thread[16]; /* name, NUL padded */
  uint64_t stack;  /* id of a STACK; 0: no stack was taken */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_launch) == 56, "launch layout");

/* The frames of a stack id. Sent before its first use, in any ring, possibly more than once. */
struct gpuprof_stack {
  struct gpuprof_record header;
  uint64_t stack;   /* hash of the words, never 0; belongs to the source */
  uint32_t count;   /* number of words, at most GPUPROF_STACK_MAX_WORDS */
  uint16_t flags;   /* GPUPROF_STACK_* */
  uint16_t modules; /* at most GPUPROF_STACK_MAX_MODULES */
  uint64_t words[]; /* `count` words, then `modules` numbers of the MODULEs that contain their addresses */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_stack) == 24, "stack layout");
#define GPUPROF_STACK_MAX_MODULES 64u /* /proc/PID/maps resolves the other addresses of a stack */

/* 16 bytes of a file that distinguish it from other files. */
struct gpuprof_module_mark {
  uint64_t offset; /* offset in the file; UINT64_MAX: this mark is unused */
  uint8_t bytes[16];
};
#define GPUPROF_MODULE_MARKS 4
#define GPUPROF_WIRE_MAX_PATH 4095u
#define GPUPROF_MAX_MODULES 4096u

/* A loaded file with frames on a stack. Sent in the same ring before the first STACK that names it: another file may be
 * mapped there before the recorder reads the mappings, or the recorder may not read them. Not sent with glibc before
 * 2.35 (no lookup without a lock). */
struct gpuprof_module {
  struct gpuprof_record header;
  uint64_t start; /* addresses of the executable mapping, [start, end); whole pages */
  uint64_t end;
  uint64_t offset;     /* file offset of `start` */
  uint32_t module;     /* 1 .. GPUPROF_MAX_MODULES - 1; belongs to the source and is never reused */
  uint32_t path_bytes; /* at most GPUPROF_WIRE_MAX_PATH */
  struct gpuprof_module_mark marks[GPUPROF_MODULE_MARKS];
  char path[]; /* as the kernel reports it, without " (deleted)"; without /proc: as the loader reports it */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_module) == 136, "module layout");

/* Reports that libraries were loaded or unloaded since the last such record. */
struct gpuprof_mappings {
  struct gpuprof_record header;
  uint64_t loads; /* number of loads so far */
};

/* A Python code object. Sent before the first stack that names it. Ids belong to the source and are never reused. */
struct gpuprof_code {
  struct gpuprof_record header;
  uint32_t id; /* 1 .. 2^31-1 */
  uint32_t first_line;
  uint32_t version;    /* PY_VERSION_HEX: determines the line table's format */
  uint32_t name_bytes; /* UTF-8, the qualified name if available; at most 4096, like file_bytes */
  uint32_t file_bytes;
  uint32_t line_table_bytes; /* at most GPUPROF_WIRE_MAX_TEXT; 0: too long, or not readable */
  char bytes[];              /* name, file, line table, in this order */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_code) == 32, "code layout");

/* Reports a Python interpreter that was loaded after the handshake. */
struct gpuprof_python {
  struct gpuprof_record header;
  struct gpuprof_python_layout layout;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_python) == 96, "python layout");

enum gpuprof_host_op_kind {
  GPUPROF_HOST_SYNC = 0,         /* the CPU waited for the GPU, from start to end of the call */
  GPUPROF_HOST_ALLOC = 1,        /* device, managed or pinned memory was allocated; no duration */
  GPUPROF_HOST_FREE = 2,         /* memory was freed; no duration */
  GPUPROF_HOST_FAULT_GPU = 3,    /* unified memory: page faults of the GPU, `count` of them */
  GPUPROF_HOST_FAULT_CPU = 4,    /* unified memory: page faults of the CPU */
  GPUPROF_HOST_MIGRATE_HTOD = 5, /* unified memory: pages moved */
  GPUPROF_HOST_MIGRATE_DTOH = 6,
  GPUPROF_HOST_FAILED = 7, /* a call returned an error; `correlation` may be that of a launch; no duration */
  GPUPROF_HOST_OPS = 8
};

/* An event that belongs to GPU work without being GPU work. No sum of GPU time includes its time. */
struct gpuprof_host_op {
  struct gpuprof_record header;
  uint64_t correlation; /* id of the stack's call, with GPUPROF_CORRELATION_HOST; 0: no call (unified memory) */
  uint64_t start_ns;
  uint64_t end_ns; /* equals start_ns if there is no duration */
  uint64_t bytes;
  uint64_t count;   /* 1, or the number of page faults */
  uint32_t name_id; /* the called function; 0: no function; GPUPROF_HOST_FAILED: "function: error" */
  uint32_t device;  /* UINT32_MAX: not tied to one device */
  uint32_t tid;     /* thread of the call; 0: unknown */
  uint16_t op;      /* enum gpuprof_host_op_kind */
  uint16_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_host_op) == 64, "host op layout");

/* A graph node was created (after the stack of its probe call, GPUPROF_CORRELATION_NODE | node), copied, updated or
 * destroyed. A copy takes the stack and name of `original` instead of its own (CUPTI reports a copy twice: created,
 * then cloned). Nodes that cuGraphInstantiate itself destroys are not reported: their GPU work still arrives. */
struct gpuprof_graph_node {
  struct gpuprof_record header;
  uint64_t node;
  uint64_t original; /* the node that this one is a copy of, or (UPDATED) whose work it now runs; 0: no other node */
  uint64_t launch;   /* correlation id of the captured launch, which runs nothing itself; 0: no launch */
  uint64_t time_ns;
  uint32_t flags;
  uint32_t name_id; /* name of the node's kernel; 0: not a kernel, or unknown */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_graph_node) == 48, "graph node layout");
#define GPUPROF_GRAPH_NODE_DESTROYED 1u
#define GPUPROF_GRAPH_NODE_UPDATED 2u /* launches after time_ns run the work of `original`, or the kernel name_id */

/* A launch of an executable graph, sent before its work, while the process may have graphs with conditional nodes. Work
 * in the bodies of such nodes has no correlation id, but an executable graph runs its launches one by one. */
struct gpuprof_graph_launch {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t time_ns;
  uint64_t finished; /* launches on the stream with correlation ids below this have ended; 0: unknown */
  uint32_t exec;     /* id of the executable graph */
  uint32_t stream;   /* as in GPU_OP */
  uint32_t flags;    /* GPUPROF_GPU_OP_UNSAMPLED or GPUPROF_GPU_OP_OUTSIDE */
  uint32_t tid;      /* thread of the launch; valid if a flag is set */
  uint32_t range;
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_graph_launch) == 56, "graph launch layout");

/* Gives a nested NVTX range (a path of names) an id. Sent before its first use. */
struct gpuprof_range {
  struct gpuprof_record header;
  uint32_t id; /* never 0 */
  uint32_t parent;
  uint32_t domain_id; /* name id; 0: the default domain */
  uint32_t name_id;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_range) == 24, "range layout");

/* A call that put work on a GPU, sent at its end. Only with GPUPROF_CONTROL_CALLS. */
struct gpuprof_call {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t name_id; /* the function */
  uint32_t tid;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_call) == 40, "call layout");

/* An NVTX range, from push to pop or from start to end. Only with GPUPROF_CONTROL_CALLS. */
struct gpuprof_span {
  struct gpuprof_record header;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t range; /* id of a RANGE */
  uint32_t tid;   /* 0: a start/end range, which has no thread */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_span) == 32, "span layout");

/* Samples of one instruction in one window, by reason. The SAMPLE_WINDOW follows all its SAMPLES in the same ring. */
struct gpuprof_sample_reason {
  uint32_t reason_id; /* name id of the vendor's name: "long_scoreboard" */
  uint32_t samples;
};
struct gpuprof_samples {
  struct gpuprof_record header;
  uint64_t module; /* the source's number of the module, as in gpuprof_code_offer; 0: unknown */
  uint64_t offset; /* from the start of the function to the instruction; with ADDRESS: GPU address of the instruction */
  uint32_t function_id; /* name id of the function, mangled as in the code; 0 with ADDRESS */
  uint32_t window;      /* number of its SAMPLE_WINDOW */
  uint32_t count;       /* number of reasons, at most GPUPROF_SAMPLES_MAX_REASONS */
  uint32_t flags;       /* GPUPROF_SAMPLES_* */
  uint64_t correlation; /* id of the launch, announced by a SAMPLED_LAUNCH; 0: unknown */
  struct gpuprof_sample_reason reasons[];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_samples) == 48, "samples layout");
#define GPUPROF_SAMPLES_MAX_REASONS 256u
#define GPUPROF_SAMPLES_ADDRESS 1u     /* GPU_KERNEL records map the address to a kernel; `module` is 0 */
#define GPUPROF_SAMPLES_LOW_ADDRESS 2u /* with ADDRESS: only its low 32 bits are known */

/* Announces a launch that is sampled: its SAMPLES carry its correlation id. Sent before its LAUNCH in the same ring. */
struct gpuprof_sampled_launch {
  struct gpuprof_record header;
  uint64_t correlation;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_sampled_launch) == 16, "sampled launch layout");

/* Ends a window: samples of one context taken in [start_ns, end_ns). Vendors deliver samples late, so windows of a
 * context may overlap by about 0.25 s. Each hardware sample is counted once: in `handed`, `dropped` or `foreign` of one
 * window. */
struct gpuprof_sample_window {
  struct gpuprof_record header;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t handed;  /* samples in the SAMPLES of this window, also in SAMPLES that did not fit into the ring */
  uint64_t dropped; /* samples dropped by the hardware or the vendor's library */
  uint64_t foreign; /* samples taken in code that does not belong to the program */
  uint64_t period;  /* cycles between samples, as read back from the vendor; 0: unknown */
  uint32_t window;  /* never 0; the source's number of the window */
  uint32_t device;
  uint32_t context; /* as in GPU_OP */
  uint32_t whole;   /* the parent of the sub-device `device`, or `device` itself: kernels of both may be sampled */
  uint32_t flags;   /* GPUPROF_SAMPLE_WINDOW_* */
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_sample_window) == 80, "sample window layout");
#define GPUPROF_SAMPLE_WINDOW_NS 1u /* `period` is in nanoseconds */

/* How often an instruction did something since the last such record, as counted by the hardware. */
struct gpuprof_count_record {
  struct gpuprof_record header;
  uint64_t module; /* module, offset and function_id as in SAMPLES */
  uint64_t offset;
  uint64_t value;
  uint32_t function_id;
  uint32_t name_id; /* the metric: "smsp__sass_inst_executed" */
  uint32_t device;
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_count_record) == 48, "count layout");

/* The GPU address of a kernel's code, valid from time_ns to the GONE record of its load. Maps sampled addresses to
 * kernels. */
struct gpuprof_gpu_kernel {
  struct gpuprof_record header;
  uint64_t module;  /* as in SAMPLES; 0: the code is unknown */
  uint64_t address; /* address of the kernel's first byte, in the process's GPU address space */
  uint64_t time_ns;
  uint64_t load;    /* the source's number of this load of the module: never 0, never reused */
  uint32_t name_id; /* kernel name as in the code */
  uint32_t flags;   /* GPUPROF_GPU_KERNEL_* */
  uint32_t device;  /* device that the code was built for, with all sub-devices; UINT32_MAX: unknown */
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_gpu_kernel) == 56, "GPU kernel layout");
#define GPUPROF_GPU_KERNEL_GONE 1u /* all kernels of the load were unloaded: only `time_ns` and `load` are valid */

/* "key=value" for the profile's META records, e.g. "cupti.version=130000". */
struct gpuprof_meta {
  struct gpuprof_record header;
  uint32_t length;
  uint32_t pad;
  char text[];
};

#pragma GCC diagnostic pop

#endif /* GPUPROF_WIRE_WIRE_H */
