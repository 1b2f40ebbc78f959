// What the rows of an Aggregate come to, and whether that fits together. Internal to aggregate.cpp.
#pragma once

#include "analyze/aggregate.h"

namespace gpuprof::analyze {

// Fills what of ProfileInfo is counted from rows (the kind, launches, gpu_records, with_stack, unsampled), and busy
// and exclusive times of devices.
void count_rows(Aggregate& rows);

// As ProfileInfo says.
profile::WorkCoverage covered_work(const Aggregate& rows);

// Warns where the times of a whole profile with SHARE lines do not add up: on each device with work, all that is busy
// must be exclusive, and busy and idle time must make up the windows.
void check_conservation(Aggregate& rows);

}  // namespace gpuprof::analyze
