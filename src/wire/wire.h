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

/* Flexible array members are a feature of C that gcc and clang also accept in C++. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

#ifdef __cplusplus
#define GPUPROF_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define GPUPROF_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define GPUPROF_WIRE_MAGIC 0x46525047u /* "GPRF" */
#define GPUPROF_WIRE_VERSION 13u

/* Environment variables of the target. */
#define GPUPROF_ENV_SOCKET "GPUPROF_SOCKET" /* abstract socket name, without the leading NUL */
/* The same recorder's socket in the folder of the injection libraries. A process in another network namespace cannot
 * reach the abstract name. */
#define GPUPROF_SOCKET_FILE "socket"
/* 32 hex digits, with which a process proves that the recorder started it. */
#define GPUPROF_ENV_TOKEN "GPUPROF_TOKEN"
/* The user id of the recorder in the recorder's namespace. A target does not connect to a listener of another user.
 * */
#define GPUPROF_ENV_UID "GPUPROF_UID"
/* The same text as gpuprof_options.nvtx_range. A target needs it for names that it gives to ranges before it connects.
 */
#define GPUPROF_ENV_NVTX_RANGE "GPUPROF_NVTX_RANGE"
/* The value of CUDA_INJECTION64_PATH before the recorder replaced it. */
#define GPUPROF_ENV_NEXT_CUDA_INJECTION "GPUPROF_NEXT_CUDA_INJECTION"

/* Users may set these variables for the CUDA backend. They are the path of libcupti, the API whose callbacks it uses,
 * and the flush interval. */
#define GPUPROF_ENV_CUPTI_PATH "GPUPROF_CUPTI_PATH"
#define GPUPROF_ENV_CUPTI_DOMAINS "GPUPROF_CUPTI_DOMAINS"
#define GPUPROF_ENV_CUPTI_FLUSH_MS "GPUPROF_CUPTI_FLUSH_MS"
/* 1: other tools can subscribe to CUPTI beside gpuprof. */
#define GPUPROF_ENV_CUPTI_SHARED "GPUPROF_CUPTI_SHARED"
/* Limits of GPUPROF_CUPTI_FLUSH_MS, in milliseconds. */
#define GPUPROF_FLUSH_MS_MIN 10
#define GPUPROF_FLUSH_MS_MAX 1000

/* How long a target waits. The recorder's own time-outs depend on these (record/session/timing.h). */
#define GPUPROF_HANDSHAKE_WAIT_NS 2000000000ull /* for the recorder's answer */
/* If the recorder has not polled for this long, a target does not wait for it. */
#define GPUPROF_RECORDER_ALIVE_NS 1000000000ull
/* If the recorder has not polled for this long, it was killed or stopped. */
#define GPUPROF_RECORDER_GONE_NS (10 * GPUPROF_RECORDER_ALIVE_NS)
#define GPUPROF_IDLE_FLUSH_NS 1000000000ull /* longest time until finished work is sent */
/* Linux checks timers of CPU time only at its ticks, at least 100 times per second. */
#define GPUPROF_LONGEST_TICK_NS 10000000ull
#define GPUPROF_LONG_CALL_NS 100000ull      /* calls of any observed function are reported if they last this long */
#define GPUPROF_LEAVE_WAIT_NS 2000000000ull /* for the vendor's library to finish, before detaching */

/* Longest interval between two polls of the recorder. Each poll updates the heartbeat. */
#define GPUPROF_POLL_NS 20000000ull

struct gpuprof_hello {
  uint32_t magic;
  uint32_t version;
  char token[32];
  char backend[16];                    /* "cupti", "opencl", ..., padded with NULs */
  uint64_t image;                      /* reserved, always 0 */
  struct gpuprof_python_layout python; /* the process's interpreter; version 0: no Python, or not loaded yet */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_python_layout) == 88, "python layout");
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_hello) == 64 + 88, "hello layout");

/* The recorder's answer. The memfd is sent with it as SCM_RIGHTS. */
struct gpuprof_welcome {
  uint32_t magic;
  uint32_t version;
  uint32_t source_id; /* never 0; unique in the session for each process image and injection library */
  uint32_t segment_bytes;
  /* CLOCK_REALTIME minus the recorder's clock, as in clock_offset.h. 0: the target has the same clock as the
   * recorder. */
  int64_t clock_offset_ns;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_welcome) == 24, "welcome layout");

#define GPUPROF_RING_COUNT 8u
#define GPUPROF_RING_BYTES (4u << 20)

/* Bits of gpuprof_segment.control. The recorder writes them. */
#define GPUPROF_CONTROL_ENABLED 1u /* record; the recorder clears this bit to pause */
/* Send a LAUNCH record for each launch, because no BPF program reports launches. */
#define GPUPROF_CONTROL_LAUNCH_RECORDS 2u
/* The target sends what the vendor's library still holds, then sets gpuprof_segment.flushed. To ask again, the
 * recorder clears `flushed`. */
#define GPUPROF_CONTROL_FLUSH 4u
#define GPUPROF_CONTROL_CALLS 8u /* send a CALL record for each call, and a SPAN record for each NVTX range */
/* The recorder leaves the process (record -p): undo all instrumentation. */
#define GPUPROF_CONTROL_RETRACT 16u
/* The user has switched recording off, so that the launches of this time do not belong to the recording. Set only with
 * GPUPROF_OPTION_WINDOWS. */
#define GPUPROF_CONTROL_UNWANTED 32u

/* Bits of gpuprof_options.flags. The recorder sets them before it gives the segment to the target. */
#define GPUPROF_OPTION_LATENCY 1u /* ask the vendor's library when work was queued and submitted */
/* Send one GPU_OP for a graph launch instead of one per node, which costs less. */
#define GPUPROF_OPTION_WHOLE_GRAPHS 2u
#define GPUPROF_OPTION_ATTACHED 4u /* loaded into a running process, so what the process did before is unknown */
#define GPUPROF_OPTION_STACKS 8u   /* walk stacks in the process: send STACK and CODE records, set LAUNCH.stack */
#define GPUPROF_OPTION_SAMPLES 16u /* sample inside kernels, and send SAMPLES, SAMPLE_WINDOW and code */
#define GPUPROF_OPTION_EXACT 32u   /* with SAMPLES: sample only chosen kernels, one launch at a time (SAMPLED_LAUNCH) */
#define GPUPROF_OPTION_COUNTS 128u /* count instructions, and send COUNT records and code, but no GPU work */
/* With GPUPROF_OPTION_SAMPLES: the recorder takes the samples, so the target sends only code and GPU_KERNEL records.
 * */
#define GPUPROF_OPTION_CODE_ONLY 256u
#define GPUPROF_OPTION_WINDOWS 512u    /* GPUPROF_CONTROL_ENABLED changes often, so look at it every few milliseconds */
#define GPUPROF_OPTION_CPU 1024u       /* with GPUPROF_OPTION_STACKS: sample what threads compute (HOST_OP) */
#define GPUPROF_OPTION_BLOCKS 2048u    /* probe the thread blocks of chosen kernels, and send BLOCKS records */
#define GPUPROF_OPTION_ALL_KERNELS 64u /* treat all kernels as chosen, and ignore gpuprof_segment.chosen */

/* Values of gpuprof_segment.state. The target writes them. */
enum gpuprof_state {
  GPUPROF_STATE_STARTING = 0,
  GPUPROF_STATE_ACTIVE = 1,
  GPUPROF_STATE_FINISHED = 2, /* the target sent all its data, and exited normally */
  GPUPROF_STATE_DISABLED = 3  /* the injection library disabled itself; `reason` says why */
};

/* Events that are not losses. They are counted per ring, to check that nothing is missing. */
enum gpuprof_count {
  GPUPROF_COUNT_CAPTURED = 0, /* launches that became a node of a graph, and ran nothing themselves */
  GPUPROF_COUNT_FAILED = 1,   /* launches for which the vendor's library returned an error */
  GPUPROF_COUNT_OUTSIDE = 2,  /* GPU work ignored because its launch was outside of options.nvtx_range */
  GPUPROF_COUNT_GPU_OPS = 3,  /* GPU_OP records that were sent, or lost because the ring was full */
  GPUPROF_COUNT_PASSED = 4,   /* launches made while recording was off, with GPUPROF_OPTION_WINDOWS */
  /* Not events, but times in ns. Both are 0 if launches are recorded exactly while recording is on. */
  GPUPROF_COUNT_RECORDED_NS = 5, /* in which launches were recorded, with GPUPROF_OPTION_WINDOWS */
  GPUPROF_COUNT_PASSED_NS = 6,   /* in which the launches of GPUPROF_COUNT_PASSED were made */
  GPUPROF_COUNT_UNWANTED = 7,    /* launches made while GPUPROF_CONTROL_UNWANTED was set */
  GPUPROF_COUNT_EXTRAPOLATED =
      8, /* launches of GPUPROF_COUNT_PASSED before the first and after the last recorded one */
  GPUPROF_COUNTS = 9
};

/* A ring buffer. The bytes [tail, head) are readable. Positions never wrap: take them modulo GPUPROF_RING_BYTES. A
 * thread may write while it holds `lock`, and threads are distributed over the rings. A record never wraps either: a
 * GPUPROF_RECORD_PAD fills the space before the end. */
struct gpuprof_ring {
  uint64_t head;             /* the target writes it with release order */
  uint64_t launches;         /* number of calls that put work on a GPU */
  uint64_t overhead_samples; /* number of launches whose overhead was measured */
  uint64_t overhead_ns;      /* sum of the measured overheads: callbacks and probe, including trap and BPF program */
  uint32_t lock;             /* 0: free, 1: held */
  uint32_t pad0;
  uint64_t handover_ns; /* time in which records were delivered, and the vendor's library was attached and detached */
  uint64_t pad1[2];
  uint64_t tail; /* the recorder writes it with release order */
  uint64_t pad2[7];
  uint64_t lost[GPUPROF_LOSS_KINDS];
  uint64_t counts[GPUPROF_COUNTS];
  uint64_t pad3[7];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_ring) == 384, "ring layout");

struct gpuprof_options {
  uint32_t flags;           /* GPUPROF_OPTION_* */
  uint32_t sampling_period; /* cycles between samples, a power of two; 0: the default of the vendor's library */
  /* "NAME" or "NAME@DOMAIN": only launches inside this NVTX range are recorded. Empty: all launches are. */
  char nvtx_range[120];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_options) == 128, "options layout");

#define GPUPROF_MAX_COUNTED 1024u
#define GPUPROF_CHOSEN_NAMES 8192u /* kernels whose name id is not below this are never chosen */

struct gpuprof_segment {
  uint32_t magic;
  uint32_t version;
  uint32_t source_id;
  uint32_t control;      /* GPUPROF_CONTROL_*; atomic */
  uint32_t state;        /* enum gpuprof_state; atomic */
  uint32_t flushed;      /* atomic; the target sets it to 1 after it has handled GPUPROF_CONTROL_FLUSH */
  uint64_t heartbeat_ns; /* time of the recorder's last poll; if it is old, the recorder is gone */
  char reason[216];      /* ends with a NUL; valid after state has become GPUPROF_STATE_DISABLED */
  struct gpuprof_options options;
  uint32_t exact_every; /* with GPUPROF_OPTION_EXACT: sample every n-th launch of each chosen kernel */
  /* With GPUPROF_OPTION_EXACT: the maximum share of time to spend on sampled launches, in 1/65536. */
  uint32_t exact_share;
  uint64_t cpu_period_ns; /* with GPUPROF_OPTION_CPU: CPU time of a thread between two samples */
  uint64_t pad2[15];
  struct gpuprof_ring rings[GPUPROF_RING_COUNT];
  /* The kernels that the user chose, one bit per name id. When the recorder learns a name, it first writes the bit in
   * `chosen`, then, with release order, the bit in `decided`. */
  uint64_t chosen[GPUPROF_CHOSEN_NAMES / 64];
  uint64_t decided[GPUPROF_CHOSEN_NAMES / 64];
  char counted[GPUPROF_MAX_COUNTED]; /* with GPUPROF_OPTION_COUNTS: the vendor's metric names, separated by ',' */
  /* At GPUPROF_SEGMENT_DATA_OFFSET, GPUPROF_RING_COUNT data areas follow, of GPUPROF_RING_BYTES each. */
};
GPUPROF_STATIC_ASSERT(offsetof(struct gpuprof_segment, rings) == 512, "segment layout");

#define GPUPROF_SEGMENT_DATA_OFFSET 8192u
#define GPUPROF_SEGMENT_BYTES (GPUPROF_SEGMENT_DATA_OFFSET + GPUPROF_RING_COUNT * GPUPROF_RING_BYTES)
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_segment) <= GPUPROF_SEGMENT_DATA_OFFSET, "rings fit before the data");

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
  GPUPROF_RECORD_BLOCKS = 22,
  GPUPROF_RECORD_TYPES = 23
};

struct gpuprof_record {
  uint16_t type; /* enum gpuprof_record_type; the recorder skips and counts unknown types */
  uint16_t pad;
  uint32_t bytes; /* size of the record with this header, a multiple of 8 */
};

/* The longest text that is sent. A longer text is truncated at a character boundary and ends in "...". */
#define GPUPROF_WIRE_MAX_TEXT 65536u

/* The name of a kernel whose real name cannot be read any more. */
#define GPUPROF_UNKNOWN_KERNEL "[kernel name not known]"

/* Gives an id to a text. Ids belong to the source, and id 0 means no name. The record is sent before the first use in
 * the same ring. If another thread uses the id, its use may arrive before the record: the recorder then waits for the
 * name. */
struct gpuprof_name {
  struct gpuprof_record header;
  uint32_t id;
  uint32_t length; /* bytes of `text`, which does not end with a NUL */
  char text[];
};

struct gpuprof_device {
  struct gpuprof_record header;
  uint32_t device; /* index of the device in the source */
  uint32_t name_id;
  /* Name id of a text that identifies the device in all processes. 0: unknown. */
  uint32_t uuid_id;
  uint32_t pad;
};

/* Bits of correlation ids. The vendor's ids of calls are below 2^60. Other calls that need a stack use the same
 * probe. Their ids have one of these bits, and are counted separately. */
#define GPUPROF_CORRELATION_HOST (1ull << 63) /* a call that waits, allocates or frees (HOST_OP) */
#define GPUPROF_CORRELATION_NODE (1ull << 62) /* the creation of a graph node; the other bits are the node's id */
/* Only in a GPU_OP whose launch is unknown. The low 32 bits are the id of the executable graph (see GRAPH_LAUNCH). */
#define GPUPROF_CORRELATION_EXEC (1ull << 61)
/* With GPUPROF_CORRELATION_HOST: not a call, but a sample of what a thread computed. */
#define GPUPROF_CORRELATION_CPU (1ull << 60)

enum gpuprof_op {
  GPUPROF_OP_KERNEL = 0,
  GPUPROF_OP_COPY_HTOD = 1,
  GPUPROF_OP_COPY_DTOH = 2,
  GPUPROF_OP_COPY_DTOD = 3,
  GPUPROF_OP_COPY_HTOH = 4,
  GPUPROF_OP_COPY_PTOP = 5,
  GPUPROF_OP_COPY = 6, /* a copy in an unknown direction */
  GPUPROF_OP_FILL = 7,
  GPUPROF_OP_OTHER = 8,
  GPUPROF_OP_GRAPH = 9, /* a complete graph launch (GPUPROF_OPTION_WHOLE_GRAPHS), or an OpenCL command buffer */
  GPUPROF_OPS = 10
};

struct gpuprof_gpu_op {
  struct gpuprof_record header;
  /* Id of the launch, which is unique in the source, or GPUPROF_CORRELATION_EXEC | the id of an executable graph. */
  uint64_t correlation;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t queued_ns;    /* 0: unknown */
  uint64_t submitted_ns; /* 0: unknown */
  uint64_t bytes;        /* bytes copied or filled; 0 for kernels */
  uint64_t stream;
  uint32_t name_id; /* name id of the kernel; 0 for copies and fills */
  uint32_t device;
  uint16_t op; /* enum gpuprof_op */
  uint16_t flags;
  uint32_t context;
  uint64_t graph_node; /* id of the node in a graph launch; 0: not part of a graph launch */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_gpu_op) == 88, "gpu op layout");
#define GPUPROF_GPU_OP_MORE 1u /* more work items with this correlation id may follow (nodes of a graph launch) */
/* Only in GRAPH_LAUNCH: the launch is outside of options.nvtx_range, and is ignored. */
#define GPUPROF_GPU_OP_OUTSIDE 2u

/* A launch. The launching thread sends it, only with GPUPROF_CONTROL_LAUNCH_RECORDS. */
struct gpuprof_launch {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t time_ns;
  uint32_t tid;    /* thread id in the target's pid namespace */
  uint32_t range;  /* id of a RANGE; 0: outside of all ranges */
  char thread[16]; /* thread name, padded with NULs */
  uint64_t stack;  /* id of a STACK; 0: no stack was taken */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_launch) == 56, "launch layout");

/* The frames of a stack. Sent before the first use of its id, in any ring, and possibly more than once. */
struct gpuprof_stack {
  struct gpuprof_record header;
  uint64_t stack;   /* id of the stack: a hash of the words, never 0; belongs to the source */
  uint32_t count;   /* number of words, at most GPUPROF_STACK_MAX_WORDS */
  uint16_t flags;   /* GPUPROF_STACK_* */
  uint16_t modules; /* number of modules, at most GPUPROF_STACK_MAX_MODULES */
  /* `count` words, then the numbers of `modules` MODULEs, which contain the addresses in the words. */
  uint64_t words[];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_stack) == 24, "stack layout");
#define GPUPROF_STACK_MAX_MODULES 64u /* more modules are not listed: /proc/PID/maps resolves their addresses */

/* 16 bytes of a file, by which it is distinguished from other files. */
struct gpuprof_module_mark {
  uint64_t offset; /* offset in the file; UINT64_MAX: the mark is not used */
  uint8_t bytes[16];
};
#define GPUPROF_MODULE_MARKS 4
#define GPUPROF_WIRE_MAX_PATH 4095u
#define GPUPROF_MAX_MODULES 4096u

/* A loaded file that contains frames of a stack. It is sent in the same ring before the first STACK that names it:
 * before the recorder reads the mappings, another file may be mapped at the address, and the recorder may have no
 * right to read them. Not sent with glibc before 2.35, whose lookup of files takes a lock. */
struct gpuprof_module {
  struct gpuprof_record header;
  uint64_t start; /* the executable mapping is [start, end), in whole pages */
  uint64_t end;
  uint64_t offset;     /* file offset of `start` */
  uint32_t module;     /* 1 to GPUPROF_MAX_MODULES - 1; belongs to the source and is never reused */
  uint32_t path_bytes; /* at most GPUPROF_WIRE_MAX_PATH */
  struct gpuprof_module_mark marks[GPUPROF_MODULE_MARKS];
  /* The path as the kernel reports it, without " (deleted)". Without /proc, the path as the loader reports it. */
  char path[];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_module) == 136, "module layout");

/* Reports that the process has loaded or unloaded libraries since the last MAPPINGS record. */
struct gpuprof_mappings {
  struct gpuprof_record header;
  uint64_t loads; /* number of loads so far */
};

/* A Python code object. Sent before the first stack that refers to it. Ids belong to the source and are never reused.
 * */
struct gpuprof_code {
  struct gpuprof_record header;
  uint32_t id; /* 1 to 2^31-1 */
  uint32_t first_line;
  uint32_t version; /* PY_VERSION_HEX, which determines the format of the line table */
  /* Bytes of the name in UTF-8, which is the qualified name if available. At most 4096, like file_bytes. */
  uint32_t name_bytes;
  uint32_t file_bytes;
  uint32_t line_table_bytes; /* at most GPUPROF_WIRE_MAX_TEXT; 0: the table is too long or cannot be read */
  char bytes[];              /* the name, the file and the line table */
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
  GPUPROF_HOST_ALLOC = 1,        /* device, managed or pinned memory was allocated; the event has no duration */
  GPUPROF_HOST_FREE = 2,         /* memory was freed; the event has no duration */
  GPUPROF_HOST_FAULT_GPU = 3,    /* unified memory: the GPU had `count` page faults */
  GPUPROF_HOST_FAULT_CPU = 4,    /* unified memory: the CPU had page faults */
  GPUPROF_HOST_MIGRATE_HTOD = 5, /* unified memory: pages were moved */
  GPUPROF_HOST_MIGRATE_DTOH = 6,
  GPUPROF_HOST_FAILED = 7, /* a call returned an error; `correlation` may be that of a launch; no duration */
  GPUPROF_HOST_CPU = 8,    /* the thread computed for this time, which ends at the sample */
  GPUPROF_HOST_CALL = 9,   /* another call of the vendor's API lasted this long; it may include a wait for the GPU */
  GPUPROF_HOST_OPS = 10
};

/* An event that belongs to GPU work but is none. No sum of GPU time includes it. */
struct gpuprof_host_op {
  struct gpuprof_record header;
  /* Id of the call, with GPUPROF_CORRELATION_HOST, to find its stack. 0: no call caused the event (unified memory).
   * */
  uint64_t correlation;
  uint64_t start_ns;
  uint64_t end_ns; /* equals start_ns if the event has no duration */
  uint64_t bytes;
  uint64_t count;   /* number of page faults; 1 for other events */
  uint32_t name_id; /* name id of the called function, or of "function: error"; 0: no function was called */
  uint32_t device;  /* UINT32_MAX: the event belongs to no single device */
  uint32_t tid;     /* thread that made the call; 0: unknown */
  uint16_t op;      /* enum gpuprof_host_op_kind */
  uint16_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_host_op) == 64, "host op layout");

/* A graph node was created, copied, updated or destroyed. A creation is sent after the stack of its probe call
 * (GPUPROF_CORRELATION_NODE | node). A copy has the stack and name of `original`, not its own. CUPTI reports a copy
 * twice: as created, then as cloned. Nodes that cuGraphInstantiate itself destroys are not reported, but their GPU
 * work is. */
struct gpuprof_graph_node {
  struct gpuprof_record header;
  uint64_t node;
  /* The node of which this is a copy, or (UPDATED) whose work this node runs from now on. 0: no other node. */
  uint64_t original;
  /* Correlation id of the launch that was captured, and that ran nothing itself. 0: no launch was captured. */
  uint64_t launch;
  uint64_t time_ns;
  uint32_t flags;
  uint32_t name_id; /* name id of the node's kernel; 0: the node runs no kernel, or it is unknown */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_graph_node) == 48, "graph node layout");
#define GPUPROF_GRAPH_NODE_DESTROYED 1u
#define GPUPROF_GRAPH_NODE_UPDATED 2u /* launches after time_ns run the work of `original`, or the kernel `name_id` */

/* A launch of an executable graph, sent before its work. Sent only if the process may have graphs with conditional
 * nodes: work in the bodies of these nodes has no correlation id, but an executable graph runs its launches one after
 * the other. */
struct gpuprof_graph_launch {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t time_ns;
  /* All launches on the stream with a correlation id below this value have ended. 0: unknown. */
  uint64_t finished;
  uint32_t exec;   /* id of the executable graph */
  uint32_t stream; /* as in GPU_OP */
  uint32_t flags;  /* 0 or GPUPROF_GPU_OP_OUTSIDE */
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_graph_launch) == 48, "graph launch layout");

/* Gives an id to a nested NVTX range, which is a path of names. Sent before the id's first use. */
struct gpuprof_range {
  struct gpuprof_record header;
  uint32_t id; /* never 0 */
  uint32_t parent;
  uint32_t domain_id; /* name id; 0: the default domain */
  uint32_t name_id;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_range) == 24, "range layout");

/* A call that put work on a GPU. Sent when the call ends, only with GPUPROF_CONTROL_CALLS. */
struct gpuprof_call {
  struct gpuprof_record header;
  uint64_t correlation;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t name_id; /* name id of the called function */
  uint32_t tid;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_call) == 40, "call layout");

/* An NVTX range, from its push to its pop or from its start to its end. Sent only with GPUPROF_CONTROL_CALLS. */
struct gpuprof_span {
  struct gpuprof_record header;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t range; /* id of a RANGE */
  uint32_t tid;   /* 0: a start/end range, which belongs to no thread */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_span) == 32, "span layout");

/* The samples of one instruction in one window, per stall reason. The SAMPLE_WINDOW follows all its SAMPLES in the
 * same ring. */
struct gpuprof_sample_reason {
  uint32_t reason_id; /* name id of the vendor's name for the reason: "long_scoreboard" */
  uint32_t samples;
};
struct gpuprof_samples {
  struct gpuprof_record header;
  uint64_t module; /* the source's number of the module, as in gpuprof_code_offer; 0: unknown */
  /* Bytes from the start of the function to the instruction. With ADDRESS, the GPU address of the instruction. */
  uint64_t offset;
  uint32_t function_id; /* name id of the mangled function name; 0 with ADDRESS */
  uint32_t window;      /* `window` of the SAMPLE_WINDOW */
  uint32_t count;       /* number of reasons, at most GPUPROF_SAMPLES_MAX_REASONS */
  uint32_t flags;       /* GPUPROF_SAMPLES_* */
  uint64_t correlation; /* id of a launch that a SAMPLED_LAUNCH announced; 0: unknown */
  struct gpuprof_sample_reason reasons[];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_samples) == 48, "samples layout");
#define GPUPROF_SAMPLES_MAX_REASONS 256u
#define GPUPROF_SAMPLES_ADDRESS 1u     /* `module` is 0, and GPU_KERNEL records map the address to a kernel */
#define GPUPROF_SAMPLES_LOW_ADDRESS 2u /* with ADDRESS: only the low 32 bits of the address are known */

/* Announces a launch that is sampled. Its SAMPLES have its correlation id. Sent in the same ring before its LAUNCH.
 * */
struct gpuprof_sampled_launch {
  struct gpuprof_record header;
  uint64_t correlation;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_sampled_launch) == 16, "sampled launch layout");

/* Ends a window, which is all samples of one context that were taken in [start_ns, end_ns). Vendors deliver samples
 * late, so windows of one context may overlap by about 0.25 s. Each hardware sample is counted in `handed`, `dropped`
 * or `foreign` of exactly one window. */
struct gpuprof_sample_window {
  struct gpuprof_record header;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t handed;  /* samples in the window's SAMPLES, even if these did not fit into the ring */
  uint64_t dropped; /* samples that the hardware or the vendor's library dropped */
  uint64_t foreign; /* samples in code that does not belong to the program */
  uint64_t period;  /* cycles between samples, as reported by the vendor's library; 0: unknown */
  uint32_t window;  /* the source's number of the window, never 0 */
  uint32_t device;
  uint32_t context; /* as in GPU_OP */
  /* If `device` is a sub-device, its parent, else `device`. Kernels of both may have been sampled. */
  uint32_t whole;
  uint32_t flags; /* GPUPROF_SAMPLE_WINDOW_* */
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_sample_window) == 80, "sample window layout");
#define GPUPROF_SAMPLE_WINDOW_NS 1u /* `period` is in nanoseconds */

/* How often the hardware counted a metric at one instruction, since the last COUNT record for it. */
struct gpuprof_count_record {
  struct gpuprof_record header;
  uint64_t module; /* module, offset and function_id have the same meaning as in SAMPLES */
  uint64_t offset;
  uint64_t value;
  uint32_t function_id;
  uint32_t name_id; /* name id of the metric: "smsp__sass_inst_executed" */
  uint32_t device;
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_count_record) == 48, "count layout");

/* The GPU address of a kernel's code, to map sampled addresses to kernels. It is valid from time_ns until the GONE
 * record of its load. */
struct gpuprof_gpu_kernel {
  struct gpuprof_record header;
  uint64_t module;  /* as in SAMPLES; 0: the code is unknown */
  uint64_t address; /* address of the kernel's first byte in the GPU address space of the process */
  uint64_t time_ns;
  uint64_t load;    /* the source's number for this loading of the module; never 0, never reused */
  uint32_t name_id; /* name id of the mangled kernel name */
  uint32_t flags;   /* GPUPROF_GPU_KERNEL_* */
  /* The device for which the code was loaded, with all its sub-devices. UINT32_MAX: unknown. */
  uint32_t device;
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_gpu_kernel) == 56, "GPU kernel layout");
#define GPUPROF_GPU_KERNEL_GONE 1u /* the load's kernels were all unloaded; only `time_ns` and `load` are valid */

/* The thread blocks of one launch of a probed kernel. Sent in the same ring before the launch's GPU_OP. Times are by
 * the GPU's clock, whose steps may be 32 ns. An SM works while at least one block of the launch runs on it. */
struct gpuprof_block_bucket {
  uint32_t bucket; /* gpuprof_duration_bucket() of the durations in ns; the buckets of a record ascend */
  uint32_t blocks; /* never 0 */
};
struct gpuprof_blocks {
  struct gpuprof_record header;
  uint64_t correlation;  /* as in GPU_OP */
  uint64_t grid;         /* blocks of the launch */
  uint64_t blocks;       /* blocks that were recorded */
  uint64_t span_ns;      /* from the start of the first block to the end of the last one */
  uint64_t sum_ns;       /* sum of the blocks' durations */
  uint64_t slowest_ns;   /* duration of the slowest block */
  uint32_t slowest[3];   /* its coordinates */
  uint32_t concurrent;   /* most blocks that ran at the same time */
  uint32_t sms;          /* most SMs that worked at the same time */
  uint32_t device_sms;   /* SMs of the device; 0: unknown */
  uint64_t busy_ns;      /* sum over all SMs: time in which the SM worked */
  uint64_t busiest_ns;   /* the longest such time of one SM */
  uint64_t tail_ns;      /* time at the end in which less than half of `sms` worked */
  uint64_t tail_busy_ns; /* part of busy_ns in the tail */
  uint32_t used_sms;     /* SMs on which a block ran */
  uint32_t count;        /* number of buckets, at most GPUPROF_BLOCKS_MAX_BUCKETS */
  struct gpuprof_block_bucket buckets[];
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_blocks) == 120, "blocks layout");
#define GPUPROF_BLOCKS_MAX_BUCKETS 3776u /* as many as durations of 64 bits have */

/* A text "key=value" for the META records of the profile, for example "cupti.version=130000". */
struct gpuprof_meta {
  struct gpuprof_record header;
  uint32_t length;
  uint32_t pad;
  char text[];
};

#pragma GCC diagnostic pop

#endif /* GPUPROF_WIRE_WIRE_H */
