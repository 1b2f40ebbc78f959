// Handles descriptors 0, 1 and 2 that were closed when the program started.
#pragma once

namespace gpuprof {

// Occupies the closed ones of descriptors 0, 1 and 2. Otherwise a file of gpuprof could get such a number, and be
// used as standard input or output. Using them still fails, and programs that gpuprof starts do not inherit them.
void hold_standard_streams();

}  // namespace gpuprof
