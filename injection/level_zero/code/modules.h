// GPU code that the target loads, for whoever samples inside of kernels: the native binaries of modules go the way of
// code objects (runtime/kept_code.h), and of each kernel it is told where it lies on the GPU.
//
// Only where the recorder asks for samples (GPUPROF_OPTION_SAMPLES). The address is what an extension of Intel's driver
// says, zexKernelGetBaseAddress(); without it code is handed over, and nobody can say which address is in it.
#pragma once

namespace gpuprof::injection::level_zero {

// Whether code is wanted at all, and whether nothing else is.
[[nodiscard]] bool wants_code();
[[nodiscard]] bool wants_code_only();

// After bind(): a new recorder knows of no code.
void begin_code();
// On our own thread.
void flush_code();
void forget_modules();

}  // namespace gpuprof::injection::level_zero
