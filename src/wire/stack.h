/*
 * A CPU stack as the stack engines deliver it, and the rules by which they unwind. Plain C without libc beyond the
 * integer types, included by bpf/, injection/ and src/.
 *
 * A stack is a list of 64-bit words, innermost frame first. A native frame is its address (all but the first of a
 * stack, and those in a function that a signal interrupted, are return addresses). A Python frame has
 * GPUPROF_WORD_PYTHON set. The Python frames that one activation of CPython's evaluation loop runs stand before
 * (inside of) the word of that activation, which has GPUPROF_WORD_EVAL set.
 */
#ifndef GPUPROF_WIRE_STACK_H
#define GPUPROF_WIRE_STACK_H

#ifndef __bpf__
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): this is C, too */
#define GPUPROF_U8 uint8_t
#define GPUPROF_U16 uint16_t
#define GPUPROF_U32 uint32_t
#define GPUPROF_U64 uint64_t
#define GPUPROF_S64 int64_t
#else
#define GPUPROF_U8 unsigned char
#define GPUPROF_U16 unsigned short
#define GPUPROF_U32 unsigned int
#define GPUPROF_U64 unsigned long long
#define GPUPROF_S64 long long
#endif

#define GPUPROF_STACK_MAX_WORDS 4096u /* the innermost ones of a deeper stack */

/* Python frame: bits 62..32 are the id of its code object (a CODE record), bits 31..0 the byte offset of its
 * instruction in the code, as PyCode_Addr2Line takes it; UINT32_MAX: before the first one. */
#define GPUPROF_WORD_PYTHON (1ull << 63)
#define GPUPROF_WORD_PYTHON_CODE(word) ((GPUPROF_U32)((word) >> 32) & 0x7fffffffu)
#define GPUPROF_WORD_PYTHON_OFFSET(word) ((GPUPROF_U32)(word))
#define GPUPROF_WORD_OF_PYTHON(code, offset) (GPUPROF_WORD_PYTHON | (GPUPROF_U64)(code) << 32 | (GPUPROF_U32)(offset))

/* Native frame: user-space addresses of x86-64 and aarch64 leave the upper bits free. */
#define GPUPROF_WORD_EVAL (1ull << 62)  /* an activation of Python's evaluation loop */
#define GPUPROF_WORD_EXACT (1ull << 61) /* no return address though it is not the first: a signal interrupted it */
#define GPUPROF_WORD_ADDRESS ((1ull << 57) - 1)

/* Of a stack. */
#define GPUPROF_STACK_TRUNCATED 1u /* the walk ended before the frame in which the thread began */
#define GPUPROF_STACK_NO_PYTHON 2u /* the process runs Python, but this thread was in no Python function */

/*
 * How to get from a frame to its caller, packed into 64 bits: what .eh_frame says of one address. Only the stack
 * pointer, the frame pointer and the return address are followed. What depends on the processor, such as where the
 * kernel's signal frame holds registers, is in wire/stack_arch.h.
 *   bits  3..0   enum gpuprof_unwind_kind
 *   bits  5..4   enum gpuprof_unwind_fp
 *   bits 34..6   signed: added for the CFA (bytes)
 *   bits 63..35  signed: added for the place of the caller's fp (bytes)
 * The caller's sp is the CFA. Where the return address is depends on the processor: on x86-64 always at CFA +
 * GPUPROF_RETURN_ADDRESS_OFFSET, so a rule does not say it. Where a call leaves it in a link register, the rule has to:
 * kinds 8 to 15 and the last value of enum gpuprof_unwind_fp are free.
 */
enum gpuprof_unwind_kind {
  GPUPROF_UNWIND_NONE = 0,     /* nothing known: the frame pointer may be tried */
  GPUPROF_UNWIND_SP = 1,       /* CFA = sp + offset */
  GPUPROF_UNWIND_FP = 2,       /* CFA = fp + offset */
  GPUPROF_UNWIND_DEREF_SP = 3, /* CFA = *(sp + offset) */
  GPUPROF_UNWIND_DEREF_FP = 4, /* CFA = *(fp + offset): functions that realign their stack */
  GPUPROF_UNWIND_PLT = 5,      /* CFA = GPUPROF_PLT_CFA(sp, pc) */
  GPUPROF_UNWIND_SIGNAL = 6,   /* sp points to the kernel's signal frame, which holds all registers */
  GPUPROF_UNWIND_END = 7       /* the frame in which the thread began */
};
enum gpuprof_unwind_fp {
  GPUPROF_UNWIND_FP_SAME = 0,   /* the caller's fp is still in its register */
  GPUPROF_UNWIND_FP_AT_CFA = 1, /* at CFA + offset */
  GPUPROF_UNWIND_FP_AT_FP = 2   /* at fp + offset */
};
#define GPUPROF_UNWIND_RULE(kind, fp, cfa_offset, fp_offset)                                                    \
  ((GPUPROF_U64)(kind) | (GPUPROF_U64)(fp) << 4 | ((GPUPROF_U64)(GPUPROF_S64)(cfa_offset)&0x1fffffffull) << 6 | \
   ((GPUPROF_U64)(GPUPROF_S64)(fp_offset)&0x1fffffffull) << 35)
#define GPUPROF_UNWIND_RULE_KIND(rule) ((GPUPROF_U32)(rule)&15u)
#define GPUPROF_UNWIND_RULE_FP(rule) ((GPUPROF_U32)(rule) >> 4 & 3u)
#define GPUPROF_UNWIND_RULE_CFA_OFFSET(rule) ((GPUPROF_S64)((rule) << 29) >> 35)
#define GPUPROF_UNWIND_RULE_FP_OFFSET(rule) ((GPUPROF_S64)(rule) >> 35)

/*
 * Where a CPython keeps what a walk needs: offsets in bytes. Filled in by the injection library, which asks the
 * interpreter in its own process (its version, and from 3.13 on its _Py_DebugOffsets).
 */
#define GPUPROF_PYTHON_NONE 0xffffu /* an offset of something that this version does not have */
enum gpuprof_python_boundary {
  GPUPROF_PYTHON_EACH = 0,     /* 3.9, 3.10: each Python frame has an evaluation loop of its own */
  GPUPROF_PYTHON_IS_ENTRY = 1, /* 3.11: frame_boundary is a byte that is not 0 in the outermost frame of a run */
  GPUPROF_PYTHON_SHIM = 2      /* 3.12 on: after a run comes a frame whose byte at frame_boundary is at least
                                  shim_owner; it is no Python frame and lies in the evaluation loop's C frame */
};
#define GPUPROF_PYTHON_REFUSED 1u /* an interpreter that is not followed: free-threaded, or a version not known */

struct gpuprof_python_layout {
  GPUPROF_U32 version;    /* PY_VERSION_HEX; 0: there is no Python in the process */
  GPUPROF_U32 flags;      /* GPUPROF_PYTHON_REFUSED */
  GPUPROF_U64 code_type;  /* address of PyCode_Type, which each code object points to */
  GPUPROF_U64 eval_begin; /* _PyEval_EvalFrameDefault, [begin, end); 0: not known */
  GPUPROF_U64 eval_end;
  GPUPROF_U16 tstate_frame;    /* of the innermost frame in the thread state, or of the CFrame that holds it */
  GPUPROF_U16 cframe_frame;    /* of the innermost frame in the CFrame */
  GPUPROF_U16 cframe_previous; /* 3.10, 3.11: CFrames lie in the evaluation loops' C frames, one in each */
  GPUPROF_U16 tstate_cframe;
  GPUPROF_U16 frame_previous;
  GPUPROF_U16 frame_code;
  GPUPROF_U16 frame_instruction; /* a pointer into the code, or (3.9, 3.10) an int, see instruction_unit */
  GPUPROF_U16 frame_boundary;
  GPUPROF_U8 boundary; /* enum gpuprof_python_boundary */
  GPUPROF_U8 shim_owner;
  GPUPROF_U8 instruction_unit; /* bytes that one unit of the int counts; 0: frame_instruction is a pointer */
  GPUPROF_U8 code_tagged;      /* 1: the low bits of the code pointer are a tag (3.14) */
  GPUPROF_U16 code_type_field; /* ob_type in an object */
  GPUPROF_U16 code_start;      /* of the first instruction in the code object (3.11 on) */
  GPUPROF_U16 code_name;
  GPUPROF_U16 code_qualname;
  GPUPROF_U16 code_filename;
  GPUPROF_U16 code_first_line;
  GPUPROF_U16 code_line_table;
  GPUPROF_U16 bytes_size; /* of a bytes object */
  GPUPROF_U16 bytes_data;
  GPUPROF_U16 text_length;          /* of a str object, in characters */
  GPUPROF_U16 text_state;           /* of its bit field: 32 bits */
  GPUPROF_U16 text_ascii;           /* of the characters of a compact ASCII string */
  GPUPROF_U16 text_wide;            /* of the characters of another compact string */
  GPUPROF_U16 frame_owner;          /* a byte, 1 in the frame of a generator (3.11 on) */
  GPUPROF_U16 code_first_traceable; /* an int, 2-byte units: a frame before this instruction has not begun (3.11 on) */
  GPUPROF_U16 code_version;         /* an int that differs between code objects, or 0 (3.12 on) */
  GPUPROF_U8 text_kind_shift;       /* in the bit field: 3 bits of kind (1, 2 or 4 bytes a character), compact, ascii */
  GPUPROF_U8 pad[3];
};

#endif /* GPUPROF_WIRE_STACK_H */
