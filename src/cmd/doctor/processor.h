// What doctor says about the processor. Each processor architecture has one file that implements it.
#pragma once

#include <vector>

#include "cmd/doctor/facts.h"

namespace gpuprof::cmd {

// Returns what has not been tried on this processor.
std::vector<Fact> processor_facts();

// Returns whether Linux of this release can turn the probe of --stacks=bpf into a direct call.
bool has_fast_probe(const KernelRelease& release);

}  // namespace gpuprof::cmd
