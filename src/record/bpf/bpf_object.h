// Loads the BPF programs that walk stacks.
#pragma once

#include "base/result.h"
#include "libbpf/objects.h"
#include "record/bpf/stack_engine.h"

namespace gpuprof::record {

// `sleepable`: the programs may wait until memory that is paged out has been read (Linux 6.0).
Result<BpfObject> load_bpf_object(BpfWalk walk, bool sleepable);

// The hint for errors of the kernel, except for missing rights.
constexpr const char* kBpfStacksHint =
    "CPU stacks by BPF need Linux 5.17 or later; gpuprof doctor shows what this kernel offers";

}  // namespace gpuprof::record
