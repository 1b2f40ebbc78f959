// Only if samples are requested (GPUPROF_OPTION_SAMPLES): sends the native binaries of the target's modules to the
// recorder as code objects (runtime/code_store.h), and reports the GPU address of each kernel. Addresses come from an
// extension of Intel's driver, zexKernelGetBaseAddress(). Without it, samples cannot be mapped to the code.
#pragma once

namespace gpuprof::injection::level_zero {

// Return whether the recorder requests code, and whether it requests nothing but code.
[[nodiscard]] bool wants_code();
[[nodiscard]] bool wants_code_only();

// Prepares for a new recorder, which has received no code. Call it after bind().
void begin_code();
// Sends stored code. Call it only on a library thread.
void flush_code();
void forget_modules();

}  // namespace gpuprof::injection::level_zero
