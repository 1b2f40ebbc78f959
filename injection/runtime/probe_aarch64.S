// The launch probe: an empty function. Its first instruction is a nop, because Linux does not need to execute a nop out
// of line when a breakpoint replaces it. gpuprof_launch_probe_here is the same address under a name that other
// libraries cannot interpose.
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
    nop
    ret
    .cfi_endproc
    .size gpuprof_launch_probe, . - gpuprof_launch_probe
    .size gpuprof_launch_probe_here, . - gpuprof_launch_probe_here
    .section .note.GNU-stack,"",%progbits
