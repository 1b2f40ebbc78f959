// What a profile says about its recording, in words.
#pragma once

#include <string>

#include "analyze/rows/aggregate.h"

namespace gpuprof::output {

// All values of a META key, joined; empty for none. Printable.
std::string meta_text(const analyze::ProfileInfo& info, const std::string& key);

// "host1, 2026-11-23 14:05 UTC, gpuprof 1.2", of what is known; empty where nothing is.
std::string recorded_text(const analyze::ProfileInfo& info);

}  // namespace gpuprof::output
