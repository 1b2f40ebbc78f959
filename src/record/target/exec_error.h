// Explains why a command cannot be run, and suggests what the user probably meant to run.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace gpuprof::record {

// `error`: execvp's errno for `command`. The result's exit code is kExitNotFound, or kExitNotExecutable if the file
// exists.
Error exec_error(std::span<const std::string> command, int error);

}  // namespace gpuprof::record
