// Removes the entries of destroyed VMs from the maps of bpf/gpu_bindings.h, because nothing looks them up any more.
#pragma once

namespace gpuprof::backend::drm {

// Takes the file descriptors of the maps. Keeps the entries of existing VMs, even if new binds arrive during the sweep.
void sweep_bindings(int bindings, int spaces, int numbers);

}  // namespace gpuprof::backend::drm
