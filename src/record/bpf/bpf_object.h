// The programs that walk stacks, loaded.
#pragma once

#include "base/result.h"
#include "libbpf/objects.h"
#include "record/bpf/stack_engine.h"

namespace gpuprof::record {

// `sleepable`: memory that is paged out may be waited for (Linux 6.0).
Result<BpfObject> load_bpf_object(BpfWalk walk, bool sleepable);

// What to do where the kernel refuses something of them for another reason than rights.
constexpr const char* kBpfStacksHint =
    "CPU stacks by BPF need Linux 5.17 or later; gpuprof doctor shows what this kernel offers";

}  // namespace gpuprof::record
