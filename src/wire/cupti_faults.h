// Known faults of CUPTI that concern what gpuprof uses. Each row is from NVIDIA's release notes, at the version that
// mends the fault: https://docs.nvidia.com/cupti/release-notes/release-notes.html. docs/cli.md lists the rows for
// users.
#pragma once

#include <cstdint>

#include "wire/wire.h"

namespace gpuprof {

struct CuptiFault {
  uint32_t since;    // first version with the fault, as cuptiGetVersion returns it; 0: unknown
  uint32_t before;   // first version without the fault
  uint32_t options;  // The fault concerns recordings with one of these GPUPROF_OPTION_ bits. 0: all recordings
  const char* text;
  const char* mended;  // CUDA version with the first CUPTI without the fault
};

// The number of an update is unknown for versions before 12.9 Update 1, which have the number of their release.
inline constexpr CuptiFault kCuptiFaults[] = {
    {0, 23, GPUPROF_OPTION_WHOLE_GRAPHS, "--graphs=whole can crash the program", "12.4 Update 1"},
    {0, 26, 0, "work in conditional graph nodes is missing", "12.8"},
    {0, 27, GPUPROF_OPTION_SAMPLES, "no kernel times beside samples", "12.8 Update 1"},
    {22, 27, GPUPROF_OPTION_COUNTS, "--sass-metrics can miss modules", "12.9"},
    {0, 130001, 0, "flushing or stopping can crash or hang", "13.0 Update 1"},
    {24, 130100, 0, "some kernels have no times", "13.1"},
    {0, 130101, GPUPROF_OPTION_WINDOWS | GPUPROF_OPTION_ATTACHED, "graphs can have wrong stacks after a pause",
     "13.1 Update 1"},
    {0, 130101, 0, "graphs of green contexts lack capture stacks", "13.1 Update 1"},
    {130200, 130300, 0, "the program can get slower", "13.3"},
    {0, 130300, 0, "graphs with copies or fills leak memory", "13.3"},
    {0, 130401, 0, "long recordings take ever more CPU", "13.4 Update 1"},
    {0, 130401, GPUPROF_OPTION_LATENCY, "--latency can hang the program", "13.4 Update 1"},
};

constexpr bool has_fault(uint32_t version, const CuptiFault& fault) {
  return version >= fault.since && version < fault.before;
}

}  // namespace gpuprof
