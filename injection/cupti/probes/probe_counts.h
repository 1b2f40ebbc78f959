// Counts what was probed, and why the rest was not. Reported as META records.
#pragma once

#include <cstdint>

#include "cupti/probes/fat_binary.h"
#include "cupti/probes/ptx_probes.h"

namespace gpuprof::injection::cupti {

enum class LaunchProbe : uint8_t { probed, in_capture, special, no_memory, no_copy, kinds };

void reset_probe_counts();
void count_module(NoPtx why);
void count_kernels(NotProbed why, uint64_t kernels);
void count_undecided(uint64_t kernels);  // that have no place in gpuprof_segment.chosen
void count_launch(LaunchProbe what);
void count_compile_time(uint64_t ns);
void note_compiler_error(uint32_t result);  // a CUresult
// The probed copy of a kernel has fewer blocks on an SM than the original.
void note_occupancy(const char* kernel, int original, int probed);
void report_probe_counts();

}  // namespace gpuprof::injection::cupti
