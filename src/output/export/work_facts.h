// Collects the facts about a row, besides its frames, for formats that have a field for each fact.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyze/paths/walk.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// Texts are as in the profile, so each format must escape them. Unknown texts are empty.
struct WorkFacts {
  std::string_view process;
  uint32_t pid = 0;  // 0 if unknown
  std::string_view rank;
  std::string_view host;
  uint32_t tid = 0;  // 0 if unknown
  std::string_view thread;
  std::string_view device;  // for example "device 0 NVIDIA H200"
  uint64_t stream = 0;      // number of the stream within the device
  std::string_view range;   // names of nested NVTX ranges, outermost first: "epoch/step"
  std::string_view op;      // a keyword of FORMAT.md, such as "kernel" or "copy_htod"
  std::string_view name;    // name of the kernel; empty for copies and fills
};

// Finds the facts of work items. Caches the texts of devices and ranges. Empties a cache that exceeds kMostBytes.
class FactTexts {
 public:
  static constexpr size_t kMostBytes = size_t{16} << 20U;

  explicit FactTexts(const analyze::Walk& walk);  // `walk` must outlive this object

  // The texts in the result are valid until the next call.
  WorkFacts of(const profile::Work& work);

 private:
  class TextCache {
   public:
    template <typename Make>
    std::string_view find(uint32_t id, Make make);

   private:
    std::unordered_map<uint32_t, std::string> texts_;
    size_t bytes_ = 0;
  };

  const profile::Tables& tables_;
  std::string_view host_;  // host of the complete profile, used for processes that have no host of their own
  TextCache devices_;
  TextCache ranges_;
};

// Returns the kind of a frame for programs, such as "native", "python" or "gpu".
std::string_view frame_kind(analyze::FrameClass cls);

// A weight of a row, with the name and unit that all formats use. All formats write weights as kWeightNames orders
// them.
struct WeightName {
  const char* name;
  const char* unit;  // in the notation of pprof
  const char* title;
  uint64_t analyze::WalkWeight::*number;
};
inline constexpr std::array<WeightName, 5> kWeightNames = {{
    {"gpu_ns", "nanoseconds", "GPU time", &analyze::WalkWeight::ns},
    {"launches", "count", "launches", &analyze::WalkWeight::launches},
    {"queue_ns", "nanoseconds", "time in queues", &analyze::WalkWeight::queue_ns},
    {"bytes", "bytes", "bytes", &analyze::WalkWeight::bytes},
    {"samples", "count", "samples of GPU code", &analyze::WalkWeight::samples},
}};

// Returns the weight to show first: GPU time, else launches. Returns samples if the rows have only samples.
const WeightName& main_weight(const analyze::WalkWeight& total);

// Passes the rows to `put`. Stops if the stream fails: the stream's finish() returns that error to the caller.
template <typename Put>
void put_rows(analyze::Walk& walk, TextStream& stream, Put put) {
  static_cast<void>(walk.run([&](const analyze::WalkRow& row) {
    put(row);
    stream.checkpoint();
    return stream.failed() ? Status(Error{}) : Status();
  }));
}

// Returns the first value of a META key; "" if the key is missing.
std::string_view first_meta(const analyze::ProfileInfo& info, const char* key);

}  // namespace gpuprof::output
