// Counts the launches that a process makes while CUPTI is detached between the windows of --max-overhead. The driver
// numbers the kernels of a process (gridId), and some copies and fills, on each device, also without CUPTI. So the
// numbers of the recorded kernels show how many others there were. Kernels of graphs always have the same numbers, so
// they are left out.
#pragma once

#include <cstdint>

namespace gpuprof::injection::cupti {

// Begins to count. `attached`: the process may have launched kernels before.
void begin_passed(bool attached);
// Whether kernels are recorded now. Launches are counted one by one while this is true. Call it after CUPTI was
// switched: launches before set_tracing(false) may have records, and launches after it have none until the next window.
void set_tracing(bool on);
[[nodiscard]] bool tracing();

// A launch begins while CUPTI is attached, in a window or not. Records of a launch before the end of a window belong to
// that window, even if they come in the next one.
void note_attached_launch(uint32_t correlation);
// CUPTI was attached again: it has delivered all earlier records, and begins anew with its correlation ids.
void forget_attached_launches();

// CUPTI recorded work that no graph launch made. Kernels are reported by both functions.
void note_traced_record();
void note_traced_kernel(uint32_t correlation, uint32_t device, int64_t number);

// The user has switched recording off. Launches until the next window count as GPUPROF_COUNT_UNWANTED.
void note_unwanted();

// Adds the launches since the last report to GPUPROF_COUNT_PASSED. Call it at the end of each window. `last`: there
// will be no more records, so the launches since the last recorded kernel are estimated by the rate before it.
void report_passed(bool last);
// From now on, callers count all launches one by one.
void end_passed();
[[nodiscard]] bool counts_passed();

}  // namespace gpuprof::injection::cupti
