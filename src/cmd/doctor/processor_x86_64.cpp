#include "cmd/doctor/processor.h"

namespace gpuprof::cmd {

std::vector<Fact> processor_facts() {
  return {};
}

bool has_fast_probe(const KernelRelease& release) {
  return release >= KernelRelease{6, 18};
}

}  // namespace gpuprof::cmd
