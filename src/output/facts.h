// Describes how a profile was recorded.
#pragma once

#include <string>

#include "analyze/rows/aggregate.h"

namespace gpuprof::output {

// Returns all values of a META key, joined and printable. Returns "" if the profile lacks the key.
std::string meta_text(const analyze::ProfileInfo& info, const std::string& key);

// Returns "host1, 2026-11-23 14:05 UTC, gpuprof 1.2", without the facts that the profile lacks.
std::string recorded_text(const analyze::ProfileInfo& info);

}  // namespace gpuprof::output
