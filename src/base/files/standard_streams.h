// Handles descriptors 0, 1 and 2 that were closed when the program started.
#pragma once

namespace gpuprof {

// Opens placeholders for those of descriptors 0, 1 and 2 that are closed, so that no file of gpuprof gets such a
// number. Reading or writing a placeholder fails, and programs that gpuprof starts do not inherit it.
void hold_standard_streams();

}  // namespace gpuprof
