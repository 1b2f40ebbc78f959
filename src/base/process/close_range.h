// Closes many descriptors, in a process that will execute another program or outlive its parent.
#pragma once

namespace gpuprof {

void close_between(int first, int last);

// Makes the next exec close the descriptor `first` and all higher ones. Returns false if the descriptors could not be
// listed.
bool close_on_exec_from(int first);

}  // namespace gpuprof
