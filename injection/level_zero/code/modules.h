// Sends the native binaries of the target's modules to the recorder as code objects (runtime/code_store.h), and reports
// the GPU address of each kernel. Active only if the recorder requests samples (GPUPROF_OPTION_SAMPLES). Addresses come
// from an extension of Intel's driver, zexKernelGetBaseAddress(). Without it, samples cannot be mapped to the code.
#pragma once

namespace gpuprof::injection::level_zero {

// Return whether the recorder requests code at all, and whether it requests nothing else.
[[nodiscard]] bool wants_code();
[[nodiscard]] bool wants_code_only();

// Forgets which code was sent, because a new recorder has received none. Call it after bind().
void begin_code();
void flush_code();
void forget_modules();

}  // namespace gpuprof::injection::level_zero
