// Facts for `doctor` about which stack engines work on this machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/doctor/facts.h"
#include "record/bpf/stack_engine.h"

namespace gpuprof::cmd {

// Creates a BPF engine, to test whether the kernel allows this way to walk. Returns a note about missing features, or
// "".
using TryBpf = std::function<Result<std::string>(record::BpfWalk)>;
Result<std::string> try_bpf(record::BpfWalk walk);

std::vector<Fact> stack_facts(const TryBpf& try_bpf);

}  // namespace gpuprof::cmd
