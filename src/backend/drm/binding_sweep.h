// Removes the entries of destroyed VMs from the maps of bpf/jobs/gpu_bindings.h.
#pragma once

namespace gpuprof::backend::drm {

// Takes the descriptors of the maps. Keeps the entries of existing VMs, even if binds arrive while it runs.
void sweep_bindings(int bindings, int spaces, int numbers);

}  // namespace gpuprof::backend::drm
