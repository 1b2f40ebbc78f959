// What `doctor` says about NVIDIA's interfaces: what the driver allows, which CUPTI is there, and which other tools
// want to be where we want to be. The function reads files under a root folder, as those of facts.h do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/doctor/facts.h"

namespace gpuprof::cmd {

// The value of an environment variable; empty where it is not set.
using Environment = std::function<std::string(const char* name)>;

std::vector<Fact> nvidia_facts(const std::string& root, const Rights& rights, const Environment& environment);

}  // namespace gpuprof::cmd
