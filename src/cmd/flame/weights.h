// The values of `flame --weight`.
#pragma once

#include <array>
#include <string>

#include "analyze/rows/measure.h"
#include "output/weight.h"

namespace gpuprof::cmd {

struct WeightWord {
  const char* word;
  analyze::Measure measure;
  output::WeightKind kind;
  const char* title;
  const char* series_title;
  const char* time_name;
  const char* count_name;
  const char* event_name = "event";
  const char* bytes_name = "copied or filled";
};
inline constexpr const char* kGraph = "GPU flame graph";
inline constexpr const char* kTime = "GPU time";
inline constexpr std::array<WeightWord, 15> kWeights = {{
    {"sum", analyze::Measure::gpu, output::WeightKind::time, kGraph, "GPU work over time", kTime, "launch"},
    {"time", analyze::Measure::gpu, output::WeightKind::time, kGraph, "GPU work over time", kTime, "launch"},
    {"busy", analyze::Measure::busy, output::WeightKind::time, kGraph, "Busy GPU time, over time",
     "time in which a device was busy", "launch"},
    {"exclusive", analyze::Measure::exclusive, output::WeightKind::time, kGraph, "Exclusive GPU time, over time",
     "GPU time, divided among work that ran at the same time", "launch"},
    {"idle", analyze::Measure::idle, output::WeightKind::time, "GPU idle time", "GPU idle time, over time",
     "time in which a device was idle", "gap", "idle time"},
    {"count", analyze::Measure::gpu, output::WeightKind::count, kGraph, "GPU work over time", kTime, "launch"},
    {"samples", analyze::Measure::samples, output::WeightKind::count, kGraph, "Samples of GPU code, over time", kTime,
     "sample"},
    {"bytes", analyze::Measure::gpu, output::WeightKind::bytes, kGraph, "Bytes copied and filled, over time", kTime,
     "launch"},
    {"wait", analyze::Measure::wait, output::WeightKind::time, "Waiting for the GPU", "Waiting for the GPU, over time",
     "time in which the CPU waited for a GPU", "call", "wait"},
    {"alloc", analyze::Measure::alloc, output::WeightKind::bytes, "GPU memory allocations",
     "GPU memory allocations, over time", "time", "allocation", "allocation", "allocated"},
    {"failed", analyze::Measure::failed, output::WeightKind::count, "Calls that failed", "Calls that failed, over time",
     "time", "call", "failed call"},
    {"no-work", analyze::Measure::no_work, output::WeightKind::count, "Launches without GPU work",
     "Launches without GPU work, over time", "time", "launch", "launch without GPU work"},
    {"cpu", analyze::Measure::cpu, output::WeightKind::time, "CPU time", "CPU time, over time",
     "time in which threads computed", "sample", "CPU time"},
    {"offcpu", analyze::Measure::off_cpu, output::WeightKind::time, "Time off a CPU", "Time off a CPU, over time",
     "time in which threads that launch did not run", "time", "time off a CPU"},
    {"calls", analyze::Measure::calls, output::WeightKind::time, "Host calls", "Host calls, over time",
     "time in calls of the GPU's API", "call", "call"},
}};

inline const WeightWord& weight_of(const std::string& word) {
  for (const WeightWord& weight : kWeights) {
    if (word == weight.word) {
      return weight;
    }
  }
  return kWeights.front();
}

}  // namespace gpuprof::cmd
