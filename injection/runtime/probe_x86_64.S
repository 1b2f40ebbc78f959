// The launch probe: an empty function. Its first instruction is a 5-byte nop, which Linux can replace by a call. The
// nop must not cross a page. gpuprof_launch_probe_here is the same address under a name that other libraries cannot
// interpose.
    .text
    .balign 64
    .global gpuprof_launch_probe
    .type gpuprof_launch_probe, %function
    .global gpuprof_launch_probe_here
    .hidden gpuprof_launch_probe_here
    .type gpuprof_launch_probe_here, %function
gpuprof_launch_probe:
gpuprof_launch_probe_here:
    .cfi_startproc
    .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
    ret
    .cfi_endproc
    .size gpuprof_launch_probe, . - gpuprof_launch_probe
    .size gpuprof_launch_probe_here, . - gpuprof_launch_probe_here
    .section .note.GNU-stack,"",%progbits
