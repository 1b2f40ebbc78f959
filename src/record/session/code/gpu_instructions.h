// At the end of a recording: the text of the instructions that samples were taken at, and what those wait for. By
// NVIDIA's nvdisasm and Intel's assembler library where this machine has them; without them both are left out.
#pragma once

#include "record/join/correlator.h"
#include "record/session/code/gpu_lines.h"

namespace gpuprof::record {

// Looks at the functions with the most samples, for a few seconds at most. The correlator has finished.
void add_gpu_instructions(Correlator& correlator, GpuLines& code);

}  // namespace gpuprof::record
