/* A CPU stack as the stack engines deliver it, and the format of unwind rules. Plain C, needs only integer types.
 *
 * A stack is a list of 64-bit words, innermost frame first. A native frame is its address. All are return addresses
 * except the first of a stack and those in functions that a signal interrupted. A Python frame has GPUPROF_WORD_PYTHON
 * set. The Python frames of one activation of CPython's evaluation loop precede the word of that activation, which has
 * GPUPROF_WORD_EVAL set. */
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

#define GPUPROF_STACK_MAX_WORDS 4096u /* a deeper stack is truncated to its innermost words */

/* In the word of a Python frame, bits 62..32 are the id of its code object (a CODE record). Bits 31..0 are the byte
 * offset of its instruction in the code, in the form that PyCode_Addr2Line takes. UINT32_MAX means before the first
 * instruction. */
#define GPUPROF_WORD_PYTHON (1ull << 63)
#define GPUPROF_WORD_PYTHON_CODE(word) ((GPUPROF_U32)((word) >> 32) & 0x7fffffffu)
#define GPUPROF_WORD_PYTHON_OFFSET(word) ((GPUPROF_U32)(word))
#define GPUPROF_WORD_OF_PYTHON(code, offset) (GPUPROF_WORD_PYTHON | (GPUPROF_U64)(code) << 32 | (GPUPROF_U32)(offset))

/* Flags in the word of a native frame. User-space addresses of x86-64 and aarch64 do not use these upper bits. */
#define GPUPROF_WORD_EVAL (1ull << 62)
/* The address is not a return address, because a signal interrupted the function. Not set on the first word. */
#define GPUPROF_WORD_EXACT (1ull << 61)
#define GPUPROF_WORD_ADDRESS ((1ull << 57) - 1)

/* Flags of a stack. */
#define GPUPROF_STACK_TRUNCATED 1u /* the walk ended before it reached the thread's outermost frame */
#define GPUPROF_STACK_NO_PYTHON 2u /* the process uses Python, but this thread ran no Python function */

/*
 * An unwind rule: how to get from a frame to its caller, packed into 64 bits. It holds what .eh_frame states for one
 * address, for the stack pointer, frame pointer and return address only. Processor-specific parts (registers in the
 * kernel's signal frame) are in wire/stack_arch.h.
 *   bits  3..0   enum gpuprof_unwind_kind
 *   bits  5..4   enum gpuprof_unwind_fp
 *   bits 34..6   signed: bytes added for the CFA
 *   bits 63..35  signed: bytes added for the address of the caller's fp
 * The caller's sp is the CFA. The location of the return address depends on the processor. On x86-64 it is always CFA -
 * 8, so rules do not state it. On processors with a link register, rules state it by GPUPROF_UNWIND_IN_LINK and
 * GPUPROF_UNWIND_FP_NOT_SAVED.
 */
enum gpuprof_unwind_kind {
  GPUPROF_UNWIND_NONE = 0,     /* the address has no rule; the walk may try the frame pointer */
  GPUPROF_UNWIND_SP = 1,       /* CFA = sp + offset */
  GPUPROF_UNWIND_FP = 2,       /* CFA = fp + offset */
  GPUPROF_UNWIND_DEREF_SP = 3, /* CFA = *(sp + offset) */
  GPUPROF_UNWIND_DEREF_FP = 4, /* CFA = *(fp + offset), in functions that realign their stack */
  GPUPROF_UNWIND_PLT = 5,      /* CFA = GPUPROF_PLT_CFA(sp, pc) */
  GPUPROF_UNWIND_SIGNAL = 6,   /* sp points to the kernel's signal frame, which holds all registers */
  GPUPROF_UNWIND_END = 7,      /* this is the thread's outermost frame */
  /* Added to kinds 1 to 4: the return address is in the link register. */
  GPUPROF_UNWIND_IN_LINK = 8
};
enum gpuprof_unwind_fp {
  GPUPROF_UNWIND_FP_SAME = 0,   /* the caller's fp is still in its register */
  GPUPROF_UNWIND_FP_AT_CFA = 1, /* the caller's fp is saved at CFA + offset */
  GPUPROF_UNWIND_FP_AT_FP = 2,  /* the caller's fp is saved at fp + offset */
  /* Only with a link register: the return address is saved at CFA + offset. The caller's fp is still in its register.
   */
  GPUPROF_UNWIND_FP_NOT_SAVED = 3
};
#define GPUPROF_UNWIND_RULE(kind, fp, cfa_offset, fp_offset)                                                    \
  ((GPUPROF_U64)(kind) | (GPUPROF_U64)(fp) << 4 | ((GPUPROF_U64)(GPUPROF_S64)(cfa_offset)&0x1fffffffull) << 6 | \
   ((GPUPROF_U64)(GPUPROF_S64)(fp_offset)&0x1fffffffull) << 35)
#define GPUPROF_UNWIND_RULE_KIND(rule) ((GPUPROF_U32)(rule)&15u)
#define GPUPROF_UNWIND_RULE_CFA(rule) ((GPUPROF_U32)(rule)&7u) /* the kind without GPUPROF_UNWIND_IN_LINK */
#define GPUPROF_UNWIND_RULE_FP(rule) ((GPUPROF_U32)(rule) >> 4 & 3u)
#define GPUPROF_UNWIND_RULE_CFA_OFFSET(rule) ((GPUPROF_S64)((rule) << 29) >> 35)
#define GPUPROF_UNWIND_RULE_FP_OFFSET(rule) ((GPUPROF_S64)(rule) >> 35)

/* Byte offsets of the CPython fields that a stack walk needs. The injection library takes them from a table for the
 * interpreter's version, or since 3.13 from the interpreter's own _Py_DebugOffsets. */
#define GPUPROF_PYTHON_NONE 0xffffu /* stands for a field that this Python version does not have */
enum gpuprof_python_boundary {
  GPUPROF_PYTHON_EACH = 0, /* 3.9, 3.10: each Python frame has an evaluation loop of its own */
  /* 3.11: the byte at frame_boundary is not 0 in the outermost frame of an evaluation loop. */
  GPUPROF_PYTHON_IS_ENTRY = 1,
  GPUPROF_PYTHON_SHIM = 2 /* since 3.12: a shim frame ends a run. Its byte at frame_boundary is at least shim_owner. It
                             is not a Python frame and lies in the evaluation loop's C frame */
};
/* gpuprof does not support the interpreter, because it is free-threaded or has an unknown version. */
#define GPUPROF_PYTHON_REFUSED 1u

struct gpuprof_python_layout {
  GPUPROF_U32 version;    /* PY_VERSION_HEX; 0: the process has no Python */
  GPUPROF_U32 flags;      /* GPUPROF_PYTHON_REFUSED */
  GPUPROF_U64 code_type;  /* address of PyCode_Type, to which every code object points */
  GPUPROF_U64 eval_begin; /* address of _PyEval_EvalFrameDefault, up to eval_end; 0: unknown */
  GPUPROF_U64 eval_end;
  GPUPROF_U16 tstate_frame;    /* offset of the innermost frame in the thread state (3.9, 3.10, since 3.13) */
  GPUPROF_U16 cframe_frame;    /* offset of the innermost frame in the current CFrame (3.11, 3.12) */
  GPUPROF_U16 cframe_previous; /* 3.10, 3.11: each evaluation loop's C frame contains a CFrame */
  GPUPROF_U16 tstate_cframe;
  GPUPROF_U16 frame_previous;
  GPUPROF_U16 frame_code;
  /* Offset of a pointer into the code, or in 3.9 and 3.10 of an int (see instruction_unit). */
  GPUPROF_U16 frame_instruction;
  GPUPROF_U16 frame_boundary;
  GPUPROF_U8 boundary; /* enum gpuprof_python_boundary */
  GPUPROF_U8 shim_owner;
  GPUPROF_U8 instruction_unit; /* bytes per unit of the int; 0: frame_instruction is a pointer */
  GPUPROF_U8 code_tagged;      /* 1: the low bits of the pointer to the code are a tag (3.14) */
  GPUPROF_U16 code_type_field; /* offset of ob_type in an object */
  GPUPROF_U16 code_start;      /* offset of the first instruction in the code object (since 3.11) */
  GPUPROF_U16 code_name;
  GPUPROF_U16 code_qualname;
  GPUPROF_U16 code_filename;
  GPUPROF_U16 code_first_line;
  GPUPROF_U16 code_line_table;
  GPUPROF_U16 bytes_size; /* offset of the length in a bytes object */
  GPUPROF_U16 bytes_data;
  GPUPROF_U16 text_length; /* offset of the length in a str object; the length is in characters */
  GPUPROF_U16 text_state;  /* offset of the 32-bit bit field of a str object */
  GPUPROF_U16 text_ascii;  /* offset of the characters of a compact ASCII string */
  GPUPROF_U16 text_wide;   /* offset of the characters of another compact string */
  GPUPROF_U16 frame_owner; /* offset of a byte that is 1 in the frame of a generator (since 3.11) */
  /* Offset of an int, which counts units of 2 bytes. A frame before this instruction has not started yet (since
   * 3.11). */
  GPUPROF_U16 code_first_traceable;
  GPUPROF_U16 code_version; /* offset of an int that differs between code objects, or is 0 (since 3.12) */
  /* In text_state, from this bit: 3 bits of kind (1, 2 or 4 bytes per character), then the flags compact and ascii.
   * */
  GPUPROF_U8 text_kind_shift;
  GPUPROF_U8 pad[3];
};

#endif /* GPUPROF_WIRE_STACK_H */
