// What is wrong with the environment variables that we and our libraries in targets read: each would otherwise change
// nothing, silently.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"

namespace gpuprof::record {

// One sentence and hint a variable. `environment`: NAME=VALUE, as in environ. A name that begins with GPUPROF_ and is
// none of ours is somebody else's, unless it looks like one of ours misspelt.
std::vector<Error> check_environment(std::span<const std::string> environment,
                                     const std::vector<std::unique_ptr<backend::Backend>>& backends);

// Our own environment.
std::vector<std::string> own_environment();

}  // namespace gpuprof::record
