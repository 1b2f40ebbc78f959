// Collects the facts of a row besides its frames, for formats with a field for each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyze/paths/walk.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// Texts are unescaped, as in the profile; the formats must escape them. Unknown texts are empty.
struct WorkFacts {
  std::string_view process;
  uint32_t pid = 0;  // 0: unknown
  std::string_view rank;
  std::string_view host;
  uint32_t tid = 0;  // 0: unknown
  std::string_view thread;
  std::string_view device;  // "device 0 NVIDIA H200"
  uint64_t stream = 0;      // within the device
  std::string_view range;   // NVTX: "epoch/step", outermost first
  std::string_view op;      // a keyword of FORMAT.md: "kernel", "copy_htod"
  std::string_view name;    // the kernel's; empty for copies and fills
};

// Finds the facts of work items. Caches texts of devices and of ranges. A cache of more than kMostBytes is emptied.
class FactTexts {
 public:
  static constexpr size_t kMostBytes = size_t{16} << 20U;

  explicit FactTexts(const analyze::Walk& walk);  // `walk` must outlive this object

  // The texts are valid until the next call.
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
  std::string_view host_;  // host of the whole profile, for processes without one
  TextCache devices_;
  TextCache ranges_;
};

// Returns "native", "python", "gpu" ...
std::string_view frame_kind(analyze::FrameClass cls);

// A weight of a row, with the name and unit that all formats use. All formats write them in the order of kWeightNames.
struct WeightName {
  const char* name;
  const char* unit;  // in pprof's notation
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

// Returns the weight to show first: GPU time, or launches if there are no times, or samples if there are no launches.
const WeightName& main_weight(const analyze::WalkWeight& total);

// Passes the rows to `put`. Stops if the stream fails; the caller gets the error from the stream's finish().
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
