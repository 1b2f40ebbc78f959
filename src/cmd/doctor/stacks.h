// What `doctor` says about who can walk the CPU stacks here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/doctor/facts.h"
#include "record/bpf/stack_engine.h"

namespace gpuprof::cmd {

// Whether a BPF engine that walks so can be made: asked of the kernel itself, by making one. What it has to do without
// there; empty: nothing.
using TryBpf = std::function<Result<std::string>(record::BpfWalk)>;
Result<std::string> try_bpf(record::BpfWalk walk);

std::vector<Fact> stack_facts(const TryBpf& try_bpf);

}  // namespace gpuprof::cmd
