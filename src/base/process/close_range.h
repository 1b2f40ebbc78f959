// Many descriptors at once, of a process that is about to become another one or to outlive its parent.
#pragma once

namespace gpuprof {

// All from `first` to `last`.
void close_between(int first, int last);

// All from `first` on are closed by the next exec. False: which ones there are is not known.
bool close_on_exec_from(int first);

}  // namespace gpuprof
