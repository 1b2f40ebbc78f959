// Reports mistakes in gpuprof's environment variables. Otherwise a misspelled variable would silently have no effect.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"

namespace gpuprof::record {

// Returns a message and a hint for each wrong variable. `environment`: texts NAME=VALUE, as in environ. An unknown
// variable GPUPROF_... is reported only if it resembles a known one, because it may belong to another program.
std::vector<Error> check_environment(std::span<const std::string> environment,
                                     const std::vector<std::unique_ptr<backend::Backend>>& backends);

// Returns the names of variables GPUPROF_... that gpuprof ignores, and that check_environment() does not report.
std::vector<std::string> unknown_variables(std::span<const std::string> environment);

std::vector<std::string> own_environment();

}  // namespace gpuprof::record
