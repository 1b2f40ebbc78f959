// Adds, at the end of a recording, the text of sampled instructions and what they wait for. Uses NVIDIA's nvdisasm and
// Intel's assembler library; if they are missing, nothing is added.
#pragma once

#include "record/join/correlator.h"
#include "record/session/code/gpu_lines.h"

namespace gpuprof::record {

// Handles the functions with the most samples, for up to 4 s. Call it when the correlator has finished.
void add_gpu_instructions(Correlator& correlator, GpuLines& code);

}  // namespace gpuprof::record
