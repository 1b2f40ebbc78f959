// Selects the number of a Weight that an output shows, and its unit.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "analyze/paths/flame_tree.h"
#include "analyze/rows/measure.h"

namespace gpuprof::output {

enum class WeightKind : uint8_t { time, count, bytes };
enum class TimeUnit : uint8_t { ns, us };

struct WeightChoice {
  WeightKind kind = WeightKind::time;
  TimeUnit unit = TimeUnit::us;  // used for WeightKind::time
};

// What the numbers of a Weight measure.
struct WeightNames {
  std::string time = "GPU time";
  std::string count = "launch";            // singular
  std::string bytes = "copied or filled";  // what happened to the bytes
  std::string event = "event";             // what frames of FrameClass::event are, such as "wait"
};

// Returns the weight in the smallest unit of its kind: ns, count or bytes.
constexpr uint64_t raw_weight(const analyze::Weight& weight, WeightKind kind) {
  switch (kind) {
    case WeightKind::time:
      return weight.ns;
    case WeightKind::count:
      return weight.count;
    case WeightKind::bytes:
      return weight.bytes;
  }
  return 0;
}

// A value of `--weight`, with the texts that outputs show for it.
struct WeightWord {
  const char* word;
  analyze::Measure measure;
  WeightKind kind;
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
    {"sum", analyze::Measure::gpu, WeightKind::time, kGraph, "GPU work over time", kTime, "launch"},
    {"time", analyze::Measure::gpu, WeightKind::time, kGraph, "GPU work over time", kTime, "launch"},
    {"busy", analyze::Measure::busy, WeightKind::time, kGraph, "Busy GPU time, over time",
     "time in which a device was busy", "launch"},
    {"exclusive", analyze::Measure::exclusive, WeightKind::time, kGraph, "Exclusive GPU time, over time",
     "GPU time, divided among work that ran at the same time", "launch"},
    {"idle", analyze::Measure::idle, WeightKind::time, "GPU idle time", "GPU idle time, over time",
     "time in which a device was idle", "gap", "idle time"},
    {"count", analyze::Measure::gpu, WeightKind::count, kGraph, "GPU work over time", kTime, "launch"},
    {"samples", analyze::Measure::samples, WeightKind::count, kGraph, "Samples of GPU code, over time", kTime,
     "sample"},
    {"bytes", analyze::Measure::gpu, WeightKind::bytes, kGraph, "Bytes copied and filled, over time", kTime, "launch"},
    {"wait", analyze::Measure::wait, WeightKind::time, "Waiting for the GPU", "Waiting for the GPU, over time",
     "time in which the CPU waited for a GPU", "call", "wait"},
    {"alloc", analyze::Measure::alloc, WeightKind::bytes, "GPU memory allocations", "GPU memory allocations, over time",
     "time", "allocation", "allocation", "allocated"},
    {"failed", analyze::Measure::failed, WeightKind::count, "Calls that failed", "Calls that failed, over time", "time",
     "call", "failed call"},
    {"no-work", analyze::Measure::no_work, WeightKind::count, "Launches without GPU work",
     "Launches without GPU work, over time", "time", "launch", "launch without GPU work"},
    {"cpu", analyze::Measure::cpu, WeightKind::time, "CPU time", "CPU time, over time",
     "time in which threads computed", "sample", "CPU time"},
    {"offcpu", analyze::Measure::off_cpu, WeightKind::time, "Time off a CPU", "Time off a CPU, over time",
     "time in which threads that launch did not run", "time", "time off a CPU"},
    {"calls", analyze::Measure::calls, WeightKind::time, "Host calls", "Host calls, over time",
     "time in calls of the GPU's API", "call", "call"},
}};

// Returns the first weight with this word.
inline const WeightWord& weight_of(const std::string& word) {
  for (const WeightWord& weight : kWeights) {
    if (word == weight.word) {
      return weight;
    }
  }
  return kWeights.front();
}

// Returns the first weight of this measure.
constexpr const WeightWord& weight_of(analyze::Measure measure) {
  for (const WeightWord& weight : kWeights) {
    if (measure == weight.measure) {
      return weight;
    }
  }
  return kWeights.front();
}

// Returns what a total of the measure is: "GPU time", "idle time", "CPU time", "time off a CPU".
constexpr const char* measured_text(analyze::Measure measure) {
  return measure == analyze::Measure::gpu ? kTime : weight_of(measure).event_name;
}

}  // namespace gpuprof::output
