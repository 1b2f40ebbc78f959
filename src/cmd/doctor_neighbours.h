// What `doctor` says about others on the machine: who else wants to be where we want to be, and whether running
// processes can be attached to. The functions read files under a root folder, as those of doctor_facts.h do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/doctor_facts.h"

namespace gpuprof::cmd {

// Whether record -p can bring a library into running processes.
std::vector<Fact> attach_facts(const std::string& root, const Rights& rights);

// The value of an environment variable; empty where it is not set.
using Environment = std::function<std::string(const char* name)>;

// Other tools of NVIDIA's interfaces, and what the driver allows.
std::vector<Fact> neighbour_facts(const std::string& root, const Rights& rights, const Environment& environment);

}  // namespace gpuprof::cmd
