// The error of commands that need GPU work, if the profile has none.
#pragma once

#include <string>

#include "analyze/rows/aggregate.h"
#include "base/exit_status.h"
#include "base/result.h"

namespace gpuprof::analyze {

// Says that `name` holds no GPU work, and the reason if the profile has one. Uses only the META lines, losses, COVERAGE
// and launches of `info`.
Error no_work(const ProfileInfo& info, const std::string& name = "the profile", int exit_code = kExitNothing);

}  // namespace gpuprof::analyze
