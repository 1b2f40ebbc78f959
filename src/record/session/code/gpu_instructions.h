// At the end of a recording, adds the text of sampled instructions and the instructions that they wait for. Uses
// NVIDIA's nvdisasm and Intel's assembler library. If a tool is missing, its instructions are not added.
#pragma once

#include "record/join/correlator.h"
#include "record/session/code/gpu_lines.h"

namespace gpuprof::record {

// Handles the functions with the most samples, for up to 4 s. Call it after Correlator::finish().
void add_gpu_instructions(Correlator& correlator, GpuLines& code);

}  // namespace gpuprof::record
