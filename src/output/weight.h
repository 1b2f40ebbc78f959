// Selects the number of a Weight that an output shows, and its unit.
#pragma once

#include <cstdint>
#include <string>

#include "analyze/paths/flame_tree.h"

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

}  // namespace gpuprof::output
