// Finds out what a system call filter, such as that of a container, forbids gpuprof.
#pragma once

namespace gpuprof {

bool filter_forbids_ptrace();

}  // namespace gpuprof
