// What `doctor` says about running processes: whether record -p can bring a library into them, and which can be seen.
// The function reads files under a root folder, as those of facts.h do.
#pragma once

#include <string>
#include <vector>

#include "cmd/doctor/facts.h"

namespace gpuprof::cmd {

std::vector<Fact> attach_facts(const std::string& root, const Rights& rights);

}  // namespace gpuprof::cmd
