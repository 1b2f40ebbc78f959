// What bpf/gpu_bindings.h knows of VMs that are gone: it is found no more, and only takes room.
#pragma once

namespace gpuprof::backend::drm {

// Maps by their file descriptors. What is known of VMs that are there stays, also while binds go on.
void sweep_bindings(int bindings, int spaces, int numbers);

}  // namespace gpuprof::backend::drm
