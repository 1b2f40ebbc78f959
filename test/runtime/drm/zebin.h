/* Instructions of Ponte Vecchio inside C functions: the compiler adds sections, symbols and source lines. */
#ifndef ZEBIN_H
#define ZEBIN_H

#define SYNC "0x01"
#define ADD "0x40"
#define MUL "0x41"
#define NOP "0x60"
#define MOV "0x61"

#define INSTRUCTION(opcode) __asm__ volatile(".byte " opcode "; .zero 15")
#define KERNEL(name) \
  void name(void);   \
  __attribute__((naked, aligned(64))) void name(void)

/* The target of the code: architecture 12, release 60, revision 7. */
__asm__(
    ".pushsection .note.intelgt.compat, \"a\", @note\n"
    ".balign 4\n"
    ".long 8, 4, 6\n"
    ".asciz \"IntelGT\"\n"
    ".long (12 << 22) | (60 << 14) | 7\n"
    ".popsection");

#endif
