// Handles descriptors 0, 1 and 2 that were closed when the program started.
#pragma once

namespace gpuprof {

// If any of descriptors 0, 1 and 2 is closed, opens a placeholder there, so that no file of gpuprof gets that number.
// Reading or writing a placeholder fails. Programs that gpuprof starts do not inherit it.
void hold_standard_streams();

}  // namespace gpuprof
