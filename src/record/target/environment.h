// Reports mistakes in gpuprof's environment variables, which would otherwise silently have no effect.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"

namespace gpuprof::record {

// Returns a message and hint for each wrong variable. `environment`: NAME=VALUE, as in environ. An unknown GPUPROF_
// variable is reported only if it resembles a known one; others may belong to other programs.
std::vector<Error> check_environment(std::span<const std::string> environment,
                                     const std::vector<std::unique_ptr<backend::Backend>>& backends);

std::vector<std::string> own_environment();

}  // namespace gpuprof::record
