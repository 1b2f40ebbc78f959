#include "cmd/doctor/processor.h"

namespace gpuprof::cmd {

std::vector<Fact> processor_facts() {
  return {{"processor", State::limited,
           "aarch64: gpuprof has run only under emulation, never on an Arm machine with a GPU",
           "compare what you record with what you know; docs/benchmarks.md lists what was tried"}};
}

// Linux replaces the probe's nop by a breakpoint.
bool has_fast_probe(const KernelRelease& /*release*/) {
  return false;
}

}  // namespace gpuprof::cmd
