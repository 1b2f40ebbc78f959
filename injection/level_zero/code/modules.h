// Sends native binaries of modules that the target loads as code objects (runtime/code_store.h), and reports the GPU
// address of each kernel: for samples inside kernels, only if requested (GPUPROF_OPTION_SAMPLES). Addresses come from
// an extension of Intel's driver, zexKernelGetBaseAddress(). Without it, samples cannot be mapped to the code.
#pragma once

namespace gpuprof::injection::level_zero {

// Return whether code is requested at all, and whether only code is.
[[nodiscard]] bool wants_code();
[[nodiscard]] bool wants_code_only();

// Prepares for a new recorder, which has received no code. Call it after bind().
void begin_code();
// Sends stored code. Call it only on a library thread.
void flush_code();
void forget_modules();

}  // namespace gpuprof::injection::level_zero
