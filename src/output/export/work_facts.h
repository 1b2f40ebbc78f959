// What a row of a walk is told apart by besides its frames, for formats that have a place for each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/walk.h"

namespace gpuprof::output {

// Texts as they stand in the profile, empty where nothing is known: who writes them escapes them.
struct WorkFacts {
  std::string_view process;
  uint32_t pid = 0;  // 0: not known
  std::string_view rank;
  std::string_view host;
  uint32_t tid = 0;  // 0: not known
  std::string_view thread;
  std::string device;     // "device 0 NVIDIA H200"
  uint64_t stream = 0;    // of the device
  std::string range;      // NVTX: "epoch/step", outermost first
  std::string_view op;    // a word of FORMAT.md: "kernel", "copy_htod"
  std::string_view name;  // of the kernel; empty for copies and fills
};

// `host` is that of the whole profile, for processes that name none.
WorkFacts work_facts(const analyze::Walk& walk, const profile::Work& work, std::string_view host);

// "native", "python", "gpu" ...
std::string_view frame_kind(analyze::FrameClass cls);

// The numbers of a row, in the order and by the names of all formats.
struct WeightName {
  const char* name;
  const char* unit;   // as pprof calls it
  const char* title;  // for people
  uint64_t analyze::WalkWeight::*number;
};
inline constexpr std::array<WeightName, 5> kWeightNames = {{
    {"gpu_ns", "nanoseconds", "GPU time", &analyze::WalkWeight::ns},
    {"launches", "count", "launches", &analyze::WalkWeight::launches},
    {"queue_ns", "nanoseconds", "time in queues", &analyze::WalkWeight::queue_ns},
    {"bytes", "bytes", "bytes", &analyze::WalkWeight::bytes},
    {"samples", "count", "samples of GPU code", &analyze::WalkWeight::samples},
}};

// The one to show first: GPU time; launches of a profile without times; samples where there is nothing else.
const WeightName& main_weight(const analyze::WalkWeight& total);

// The first value of META; empty for none.
std::string_view first_meta(const analyze::ProfileInfo& info, const char* key);

}  // namespace gpuprof::output
