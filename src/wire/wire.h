/*
 * What crosses from a target process into `gpuprof record`: the handshake and the shared-memory segment.
 * Plain C, included by injection/ (in the target) and src/record (in the recorder). 64 bits,
 * little endian; both ends are always the same build, which the handshake checks.
 *
 * A target connects to an abstract SOCK_SEQPACKET socket named in the environment, makes sure by the kernel's word that
 * the recorder's user listens there, says hello, and gets a source id and a sealed memfd back, which it looks at again.
 * It maps the memfd and from then on only writes memory: a target that dies loses nothing that it has written, and one
 * that misbehaves can not shrink the file under the recorder.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC. All sizes are bytes.
 */
#ifndef GPUPROF_WIRE_WIRE_H
#define GPUPROF_WIRE_WIRE_H

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): this is C, too */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers) */

#include "wire/loss.h"
#include "wire/stack.h"

/* Flexible array members are C; both C++ compilers take them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

#ifdef __cplusplus
#define GPUPROF_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define GPUPROF_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define GPUPROF_WIRE_MAGIC 0x46525047u /* "GPRF" */
#define GPUPROF_WIRE_VERSION 8u

/* Environment of the target. */
#define GPUPROF_ENV_SOCKET "GPUPROF_SOCKET" /* abstract socket name, without the leading NUL */
#define GPUPROF_ENV_TOKEN "GPUPROF_TOKEN"   /* 32 hex digits; proves that we started it */
#define GPUPROF_ENV_UID \
  "GPUPROF_UID" /* the recorder's user, as it sees itself: whoever else listens is somebody else */
#define GPUPROF_ENV_NEXT_CUDA_INJECTION "GPUPROF_NEXT_CUDA_INJECTION" /* the CUDA_INJECTION64_PATH that we replaced */

/* What users may set for the CUDA backend: where libcupti is, whose callbacks are used, and how often it is flushed. */
#define GPUPROF_ENV_CUPTI_PATH "GPUPROF_CUPTI_PATH"
#define GPUPROF_ENV_CUPTI_DOMAINS "GPUPROF_CUPTI_DOMAINS"
#define GPUPROF_ENV_CUPTI_FLUSH_MS "GPUPROF_CUPTI_FLUSH_MS"
/* Milliseconds that GPUPROF_CUPTI_FLUSH_MS may say. */
#define GPUPROF_FLUSH_MS_LEAST 10
#define GPUPROF_FLUSH_MS_MOST 1000

/* How long a target waits, where the recorder's own time-outs depend on it (record/session/timing.h). */
#define GPUPROF_HANDSHAKE_WAIT_NS 2000000000ull /* for an answer of the recorder */
#define GPUPROF_RECORDER_ALIVE_NS 1000000000ull /* a recorder that has not polled for so long is not waited for */
#define GPUPROF_RECORDER_GONE_NS (10 * GPUPROF_RECORDER_ALIVE_NS) /* silent for so long, it was killed or stopped */
#define GPUPROF_IDLE_FLUSH_NS 1000000000ull                       /* work that has run is handed over by then */
#define GPUPROF_LEAVE_WAIT_NS 2000000000ull /* for the vendor's library to let go, before ours leaves */

/* The longest from one poll of the recorder to the next, each of which is a heartbeat. */
#define GPUPROF_POLL_NS 20000000ull

/* ---- handshake ------------------------------------------------------------------------------------------- */

struct gpuprof_hello {
  uint32_t magic;
  uint32_t version;
  char token[32];
  char backend[16];                    /* "cupti", "opencl", ...; NUL padded */
  uint64_t image;                      /* reserved, 0 */
  struct gpuprof_python_layout python; /* of the process; version 0: it has none, or none yet */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_python_layout) == 88, "python layout");
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_hello) == 64 + 88, "hello layout");

/* Sent back with the memfd as SCM_RIGHTS. */
struct gpuprof_welcome {
  uint32_t magic;
  uint32_t version;
  uint32_t source_id; /* never 0; unique in the session; one per process image and injection library */
  uint32_t segment_bytes;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_welcome) == 16, "welcome layout");

/* ---- segment --------------------------------------------------------------------------------------------- */

#define GPUPROF_RING_COUNT 8u
#define GPUPROF_RING_BYTES (4u << 20) /* power of two */

/* gpuprof_segment.control, written by the recorder. */
#define GPUPROF_CONTROL_ENABLED 1u        /* record; cleared to pause */
#define GPUPROF_CONTROL_LAUNCH_RECORDS 2u /* emit GPUPROF_RECORD_LAUNCH for each launch (no other stack source) */
#define GPUPROF_CONTROL_FLUSH                                                                                   \
  4u                                /* the recorder stops soon: flush what the vendor library holds, then clear \
                                       by setting gpuprof_segment.flushed */
#define GPUPROF_CONTROL_CALLS 8u    /* emit GPUPROF_RECORD_CALL for each call, GPUPROF_RECORD_SPAN for each range */
#define GPUPROF_CONTROL_RETRACT 16u /* leave the process (record -p): end all that we do in it */

/* gpuprof_segment.options, set by the recorder before the target gets the segment. */
#define GPUPROF_OPTION_LATENCY 1u      /* have the vendor's library tell when work was queued and submitted */
#define GPUPROF_OPTION_WHOLE_GRAPHS 2u /* one GPU_OP for a graph launch instead of one for each node: cheaper */
#define GPUPROF_OPTION_ATTACHED 4u     /* brought into a running process: what was set up before is not known */
#define GPUPROF_OPTION_STACKS 8u       /* walk the stacks in the process: STACK and CODE records, LAUNCH.stack */
#define GPUPROF_OPTION_SAMPLES 16u     /* sample inside of kernels: SAMPLES, SAMPLE_WINDOW, their code */
#define GPUPROF_OPTION_EXACT 32u   /* with SAMPLES: only launches of chosen kernels, one at a time: SAMPLED_LAUNCH */
#define GPUPROF_OPTION_COUNTS 128u /* count what instructions do: COUNT, their code; no work is told of */
#define GPUPROF_OPTION_CODE_ONLY \
  256u /* with SAMPLES, which somebody else takes: their code and GPU_KERNEL records, and nothing else at all */
#define GPUPROF_OPTION_ALL_KERNELS 64u /* all kernels are chosen, whatever gpuprof_segment.chosen says */

#define GPUPROF_ALL_STACKS 65536u /* gpuprof_segment.stack_share: every launch gets a stack */

/* gpuprof_segment.state, written by the target. */
enum gpuprof_state {
  GPUPROF_STATE_STARTING = 0,
  GPUPROF_STATE_ACTIVE = 1,
  GPUPROF_STATE_FINISHED = 2, /* flushed and closed in order */
  GPUPROF_STATE_DISABLED = 3  /* profiling switched itself off; `reason` says why */
};

/* What is no loss, but must be known to check that nothing is missing. Counted per ring. */
enum gpuprof_count {
  GPUPROF_COUNT_CAPTURED = 0,  /* launches that became a node of a graph and ran nothing themselves */
  GPUPROF_COUNT_FAILED = 1,    /* launches that the vendor's library refused with an error */
  GPUPROF_COUNT_UNSAMPLED = 2, /* launches without a stack because of gpuprof_segment.stack_share */
  GPUPROF_COUNT_OUTSIDE = 3,   /* GPU work left out because its launch was outside of options.nvtx_range */
  GPUPROF_COUNT_GPU_OPS = 4,   /* GPU_OP records handed over or lost in the ring */
  GPUPROF_COUNTS = 8
};

/*
 * A ring: bytes [tail, head) are readable, positions count up for ever and are taken modulo GPUPROF_RING_BYTES.
 * Any thread may write under `lock`; threads are spread over the rings, so that it is hardly ever contended.
 * A record never wraps: where it would, a GPUPROF_RECORD_PAD fills the rest.
 */
struct gpuprof_ring {
  uint64_t head;             /* written by the target, release */
  uint64_t launches;         /* calls that put work on a GPU */
  uint64_t overhead_samples; /* launches whose own cost was timed (a sample of all) ... */
  uint64_t overhead_ns;      /* ... and the sum of that cost: our callback and probe, trap and BPF included */
  uint32_t lock;             /* 0 free, 1 held */
  uint32_t pad0;
  uint64_t pad1[3];
  uint64_t tail; /* written by the recorder, release */
  uint64_t pad2[7];
  uint64_t lost[GPUPROF_LOSS_KINDS];
  uint64_t counts[GPUPROF_COUNTS];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_ring) == 320, "ring layout");

struct gpuprof_options {
  uint32_t flags;           /* GPUPROF_OPTION_* */
  uint32_t sampling_period; /* cycles from one sample to the next, a power of two; 0: as the vendor's library chooses */
  char nvtx_range[120];     /* "NAME" or "NAME@DOMAIN": record only what is launched inside; empty: everything */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_options) == 128, "options layout");

#define GPUPROF_MAX_COUNTED 1024u
#define GPUPROF_CHOSEN_NAMES 8192u /* names with higher ids are never chosen */

struct gpuprof_segment {
  uint32_t magic;
  uint32_t version;
  uint32_t source_id;
  uint32_t control;      /* GPUPROF_CONTROL_*, atomic */
  uint32_t state;        /* enum gpuprof_state, atomic */
  uint32_t flushed;      /* set to 1 by the target when it has served GPUPROF_CONTROL_FLUSH, atomic */
  uint64_t heartbeat_ns; /* the recorder's last poll; long ago means that it is gone */
  char reason[216];      /* NUL terminated; valid once state is GPUPROF_STATE_DISABLED */
  uint32_t stack_share;  /* launches that get a stack, chosen at random, in 1/65536; atomic, written by the recorder */
  uint32_t pad;
  struct gpuprof_options options;
  uint32_t exact_every; /* with GPUPROF_OPTION_EXACT: one of so many launches of a chosen kernel is sampled, ... */
  uint32_t exact_share; /* ... for at most this share of the time, in 1/65536 */
  uint64_t pad2[15];
  struct gpuprof_ring rings[GPUPROF_RING_COUNT];
  /* Kernels that the user chose, a bit for each name id; atomic, written by the recorder as it comes to know names:
   * first whether it is chosen, then, as a release, that this is known. */
  uint64_t chosen[GPUPROF_CHOSEN_NAMES / 64];
  uint64_t decided[GPUPROF_CHOSEN_NAMES / 64];
  char counted[GPUPROF_MAX_COUNTED]; /* with GPUPROF_OPTION_COUNTS: what to count, by the vendor's names, ',' between */
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
  uint16_t type; /* enum gpuprof_record_type; unknown ones are skipped and counted */
  uint16_t pad;
  uint32_t bytes; /* of the whole record, this header included; a multiple of 8 */
};

/* Longest name or value that crosses; a longer one is cut on a character and ends in "...". */
#define GPUPROF_WIRE_MAX_TEXT 65536u

/* The name of a kernel whose own can not be known any more. */
#define GPUPROF_UNKNOWN_KERNEL "[kernel name not known]"

/* Gives a text an id. Ids belong to the source; id 0 is "no name". Emitted before the first use, in the same ring
 * or, where another thread uses it, in any ring: the recorder waits for a name that has not come yet. */
struct gpuprof_name {
  struct gpuprof_record header;
  uint32_t id;
  uint32_t length; /* of `text`, which is not terminated */
  char text[];
};

struct gpuprof_device {
  struct gpuprof_record header;
  uint32_t device; /* index within the source */
  uint32_t name_id;
  uint32_t uuid_id; /* name id of a text that is the same for this device in every process; 0: not known */
  uint32_t pad;
};

/*
 * Correlation ids. Those of launches are the vendor's (below 2^61). Other calls whose stack is wanted go through the
 * same probe with one of the first two bits, and an id of their own.
 */
#define GPUPROF_CORRELATION_HOST (1ull << 63) /* a call that waits or allocates: of a HOST_OP */
#define GPUPROF_CORRELATION_NODE (1ull << 62) /* a graph node came to be: the other bits are its id */
#define GPUPROF_CORRELATION_EXEC                                                                                \
  (1ull << 61) /* of a GPU_OP: the vendor does not say which launch it was, only (in the low 32 bits) the id of \
                  the executable graph; see GRAPH_LAUNCH */

enum gpuprof_op {
  GPUPROF_OP_KERNEL = 0,
  GPUPROF_OP_COPY_HTOD = 1,
  GPUPROF_OP_COPY_DTOH = 2,
  GPUPROF_OP_COPY_DTOD = 3,
  GPUPROF_OP_COPY_HTOH = 4,
  GPUPROF_OP_COPY_PTOP = 5,
  GPUPROF_OP_COPY = 6, /* direction not known */
  GPUPROF_OP_FILL = 7, /* memset, fill */
  GPUPROF_OP_OTHER = 8,
  GPUPROF_OP_GRAPH = 9, /* a whole graph launch (GPUPROF_OPTION_WHOLE_GRAPHS) */
  GPUPROF_OPS = 10
};

/* A finished piece of GPU work. */
struct gpuprof_gpu_op {
  struct gpuprof_record header;
  uint64_t correlation; /* of the launch that caused it, unique in the source; or GPUPROF_CORRELATION_EXEC | id */
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t queued_ns;    /* 0: not known */
  uint64_t submitted_ns; /* 0: not known */
  uint64_t bytes;        /* copied or filled; 0 for kernels */
  uint64_t stream;       /* stream or queue */
  uint32_t name_id;      /* kernel name; 0 for copies and fills */
  uint32_t device;
  uint16_t op; /* enum gpuprof_op */
  uint16_t flags;
  uint32_t context;
  uint64_t graph_node; /* id of the node of a graph launch, 0 for none */
  uint32_t tid;        /* of the launch and ... */
  uint32_t range;      /* ... its RANGE; both only with GPUPROF_GPU_OP_UNSAMPLED, else 0 */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_gpu_op) == 96, "gpu op layout");
#define GPUPROF_GPU_OP_MORE 1u      /* other ops of the same correlation may follow (a node of a graph launch) */
#define GPUPROF_GPU_OP_UNSAMPLED 2u /* its launch has no stack by choice (stack_share): none will come */
#define GPUPROF_GPU_OP_OUTSIDE 4u   /* of a GRAPH_LAUNCH only: outside of options.nvtx_range, to be left out */

/* A launch, from the launching thread. Only with GPUPROF_CONTROL_LAUNCH_RECORDS. */
struct gpuprof_launch {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t time_ns;
  uint32_t tid;    /* as the target's pid namespace has it */
  uint32_t range;  /* id of a RANGE; 0: none */
  char thread[16]; /* name, NUL padded */
  uint64_t stack;  /* id of a STACK; 0: none was taken */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_launch) == 56, "launch layout");

/* The frames behind a stack id, before its first use; in any ring, and possibly more than once. */
struct gpuprof_stack {
  struct gpuprof_record header;
  uint64_t stack;   /* a hash of the words; never 0. Belongs to the source */
  uint32_t count;   /* of words, at most GPUPROF_STACK_MAX_WORDS */
  uint16_t flags;   /* GPUPROF_STACK_* */
  uint16_t modules; /* at most GPUPROF_STACK_MAX_MODULES */
  uint64_t words[]; /* `count` of them, then `modules` numbers of MODULEs that these addresses are in */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_stack) == 24, "stack layout");
#define GPUPROF_STACK_MAX_MODULES 64u /* others of a stack are as /proc/PID/maps says */

/* 16 bytes of a file, which differ from file to file. */
struct gpuprof_module_mark {
  uint64_t offset; /* in the file; UINT64_MAX: there is no such mark */
  uint8_t bytes[16];
};
#define GPUPROF_MODULE_MARKS 4
#define GPUPROF_WIRE_MAX_PATH 4095u
#define GPUPROF_MAX_MODULES 4096u

/* A loaded file that is on a stack, in the same ring before the first STACK there that names it: by the time that the
 * recorder looks, another one may lie at its place. Not sent for the program itself, nor where the loader does not say
 * what lies where without a lock (glibc before 2.35). */
struct gpuprof_module {
  struct gpuprof_record header;
  uint64_t start; /* of the executable mapping, [start, end); whole pages */
  uint64_t end;
  uint64_t offset;     /* of `start` in the file */
  uint32_t module;     /* 1 .. GPUPROF_MAX_MODULES - 1; belongs to the source and is never used again */
  uint32_t path_bytes; /* at most GPUPROF_WIRE_MAX_PATH */
  struct gpuprof_module_mark marks[GPUPROF_MODULE_MARKS];
  char path[]; /* as the loader has it */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_module) == 136, "module layout");

/* Libraries have been loaded or unloaded since the last one of these. */
struct gpuprof_mappings {
  struct gpuprof_record header;
  uint64_t loads; /* how many, so far */
};

/* A Python code object, before the first stack that names it. Ids belong to the source and are never used again. */
struct gpuprof_code {
  struct gpuprof_record header;
  uint32_t id; /* 1 .. 2^31-1 */
  uint32_t first_line;
  uint32_t version;    /* PY_VERSION_HEX: of the line table's format */
  uint32_t name_bytes; /* of the qualified name where there is one, UTF-8; at most 4096, as file_bytes */
  uint32_t file_bytes;
  uint32_t line_table_bytes; /* at most GPUPROF_WIRE_MAX_TEXT; 0: too long, or not readable */
  char bytes[];              /* name, file, line table, one after the other */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_code) == 32, "code layout");

/* A Python that came into the process after the handshake. */
struct gpuprof_python {
  struct gpuprof_record header;
  struct gpuprof_python_layout layout;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_python) == 96, "python layout");

enum gpuprof_host_op_kind {
  GPUPROF_HOST_SYNC = 0,         /* the CPU waited for the GPU: start to end of the call */
  GPUPROF_HOST_ALLOC = 1,        /* device, managed or pinned memory; no duration */
  GPUPROF_HOST_FREE = 2,         /* no duration */
  GPUPROF_HOST_FAULT_GPU = 3,    /* unified memory: page faults of the GPU, `count` of them */
  GPUPROF_HOST_FAULT_CPU = 4,    /* unified memory: page faults of the CPU */
  GPUPROF_HOST_MIGRATE_HTOD = 5, /* unified memory: pages moved */
  GPUPROF_HOST_MIGRATE_DTOH = 6,
  GPUPROF_HOST_OPS = 7
};

/* What is not GPU work but belongs to it. Its time is not part of any sum of GPU time. */
struct gpuprof_host_op {
  struct gpuprof_record header;
  uint64_t correlation; /* with GPUPROF_CORRELATION_HOST: of the call whose stack it has; 0: none (unified memory) */
  uint64_t start_ns;
  uint64_t end_ns; /* = start_ns where there is no duration */
  uint64_t bytes;
  uint64_t count;   /* of what happened: 1, or a number of page faults */
  uint32_t name_id; /* the function called; 0: none */
  uint32_t device;  /* UINT32_MAX: not of one device */
  uint32_t tid;     /* of the call; 0: not known */
  uint16_t op;      /* enum gpuprof_host_op_kind */
  uint16_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_host_op) == 64, "host op layout");

/* A node of a graph came to be, with the stack of the probe call (GPUPROF_CORRELATION_NODE | node) before it; or it is
 * the copy of another node, whose stack and name it takes over in place of its own (CUPTI tells of a copy twice:
 * created, then cloned); or it was given something else to run; or it went away. What cuGraphInstantiate itself
 * destroys is not told: its records still come. */
struct gpuprof_graph_node {
  struct gpuprof_record header;
  uint64_t node;
  uint64_t original; /* the node that it is a copy of, or (UPDATED) whose work it runs from now on; 0: none */
  uint64_t launch;   /* correlation id of the launch that was captured, which runs nothing itself; 0: none */
  uint64_t time_ns;
  uint32_t flags;
  uint32_t name_id; /* of the kernel that it runs; 0: no kernel, or not known */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_graph_node) == 48, "graph node layout");
#define GPUPROF_GRAPH_NODE_DESTROYED 1u
#define GPUPROF_GRAPH_NODE_UPDATED 2u /* launches after time_ns run `original`'s work, or the kernel name_id */

/* A launch of an executable graph, before its work. Only while its process may have graphs with conditional nodes: work
 * in their bodies comes without the launch's correlation id, but an executable graph runs its launches one by one. */
struct gpuprof_graph_launch {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t time_ns;
  uint64_t finished; /* launches with a lower correlation id on the same stream had ended; 0: not known */
  uint32_t exec;     /* id of the executable graph */
  uint32_t stream;   /* as in GPU_OP */
  uint32_t flags;    /* GPUPROF_GPU_OP_UNSAMPLED, or _OUTSIDE; then, of the launch: */
  uint32_t tid;
  uint32_t range;
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_graph_launch) == 56, "graph launch layout");

/* Gives a path of NVTX ranges an id, before its first use: a range inside of another (its parent). */
struct gpuprof_range {
  struct gpuprof_record header;
  uint32_t id; /* never 0 */
  uint32_t parent;
  uint32_t domain_id; /* name id; 0: the default domain */
  uint32_t name_id;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_range) == 24, "range layout");

/* One call that put work on a GPU, at its end. Only with GPUPROF_CONTROL_CALLS. */
struct gpuprof_call {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t name_id; /* the function */
  uint32_t tid;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_call) == 40, "call layout");

/* One NVTX range from push to pop or from start to end. Only with GPUPROF_CONTROL_CALLS. */
struct gpuprof_span {
  struct gpuprof_record header;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t range; /* id of a RANGE */
  uint32_t tid;   /* 0: a start/end range, which belongs to no thread */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_span) == 32, "span layout");

/* What one instruction of GPU code was found to do, and how often, in one window of time. The window's record comes
 * after all of its SAMPLES, in the same ring. */
struct gpuprof_sample_reason {
  uint32_t reason_id; /* name id: the vendor's word for it, "long_scoreboard" */
  uint32_t samples;
};
struct gpuprof_samples {
  struct gpuprof_record header;
  uint64_t module;      /* the source's own number for its code, as in gpuprof_code_offer; 0: not known */
  uint64_t offset;      /* of the instruction, from where the function begins; or (ADDRESS) where it is */
  uint32_t function_id; /* name id: as the code has it, mangled; with ADDRESS 0 */
  uint32_t window;      /* which SAMPLE_WINDOW */
  uint32_t count;       /* of reasons, at most GPUPROF_SAMPLES_MAX_REASONS */
  uint32_t flags;       /* GPUPROF_SAMPLES_* */
  uint64_t correlation; /* of the launch, which a SAMPLED_LAUNCH has told of; 0: not known */
  struct gpuprof_sample_reason reasons[];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_samples) == 48, "samples layout");
#define GPUPROF_SAMPLES_MAX_REASONS 256u
#define GPUPROF_SAMPLES_ADDRESS 1u     /* whose code it is, GPU_KERNEL records say; `module` is 0 */
#define GPUPROF_SAMPLES_LOW_ADDRESS 2u /* with ADDRESS: only the low 32 bits of it are known */

/* A launch whose kernel is sampled: its SAMPLES name it. Before its LAUNCH, in the same ring. */
struct gpuprof_sampled_launch {
  struct gpuprof_record header;
  uint64_t correlation;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_sampled_launch) == 16, "sampled launch layout");

/* Samples of one context were read out: they were taken in [start_ns, end_ns). The vendor's library tells late, so
 * windows of a context may overlap by some 0.25 s. Each sample of the hardware's is in exactly one of `handed`,
 * `dropped` and `foreign` of exactly one window. */
struct gpuprof_sample_window {
  struct gpuprof_record header;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t handed;  /* in the SAMPLES of this window, those that did not fit into the ring included */
  uint64_t dropped; /* by the hardware or the vendor's library */
  uint64_t foreign; /* taken in code that is not the program's */
  uint64_t period;  /* cycles from one sample to the next, read back; 0: not known */
  uint32_t window;  /* never 0; the source's own number */
  uint32_t device;
  uint32_t context; /* as in GPU_OP */
  uint32_t whole;   /* the device that `device` is a part of, or `device` itself: kernels of both may be sampled */
  uint32_t flags;   /* GPUPROF_SAMPLE_WINDOW_* */
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_sample_window) == 80, "sample window layout");
#define GPUPROF_SAMPLE_WINDOW_NS 1u /* `period` is in nanoseconds */

/* How often an instruction did something since the last such record, as the hardware counted it. */
struct gpuprof_count_record {
  struct gpuprof_record header;
  uint64_t module; /* as in SAMPLES, as the next ones */
  uint64_t offset;
  uint64_t value;
  uint32_t function_id;
  uint32_t name_id; /* of what was counted: "smsp__sass_inst_executed" */
  uint32_t device;
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_count_record) == 48, "count layout");

/* Where the code of a kernel lies on a GPU, from time_ns on: whoever has samples by their address finds their kernels
 * by that. What lies there is known no more once its load is GONE. */
struct gpuprof_gpu_kernel {
  struct gpuprof_record header;
  uint64_t module;  /* as in SAMPLES; 0: its code is not known */
  uint64_t address; /* of its first byte, in the GPU's address space of the process */
  uint64_t time_ns;
  uint64_t load;    /* the source's number for this loading of the module: never 0, and never used again */
  uint32_t name_id; /* as the code has it */
  uint32_t flags;   /* GPUPROF_GPU_KERNEL_* */
  uint32_t device;  /* that it was made for, and is on all parts of; UINT32_MAX: not known */
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_gpu_kernel) == 56, "GPU kernel layout");
#define GPUPROF_GPU_KERNEL_GONE 1u /* of all kernels of the load: only `time_ns` and `load` say something */

/* "key=value" for the profile's META records, e.g. "cupti.version=130000". */
struct gpuprof_meta {
  struct gpuprof_record header;
  uint32_t length;
  uint32_t pad;
  char text[];
};

#pragma GCC diagnostic pop

#endif /* GPUPROF_WIRE_WIRE_H */
