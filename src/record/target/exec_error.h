// Why a command cannot be run, and what its user most likely meant.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace gpuprof::record {

// `error` is execvp's errno for `command`. Exit code kExitNotFound, or kExitNotExecutable for what is there and cannot
// be run.
Error exec_error(std::span<const std::string> command, int error);

}  // namespace gpuprof::record
