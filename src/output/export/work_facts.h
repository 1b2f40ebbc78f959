// What a row of a walk is told apart by besides its frames, for formats that have a place for each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyze/paths/walk.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

// Texts as they stand in the profile, empty where nothing is known: who writes them escapes them.
struct WorkFacts {
  std::string_view process;
  uint32_t pid = 0;  // 0: not known
  std::string_view rank;
  std::string_view host;
  uint32_t tid = 0;  // 0: not known
  std::string_view thread;
  std::string_view device;  // "device 0 NVIDIA H200"
  uint64_t stream = 0;      // of the device
  std::string_view range;   // NVTX: "epoch/step", outermost first
  std::string_view op;      // a word of FORMAT.md: "kernel", "copy_htod"
  std::string_view name;    // of the kernel; empty for copies and fills
};

// Finds them for one work after another. Names of devices and ranges are put together once for many rows, and at most
// as much is kept of them as kMostBytes, and one more.
class FactTexts {
 public:
  static constexpr size_t kMostBytes = size_t{16} << 20U;

  explicit FactTexts(const analyze::Walk& walk);  // which must outlive it

  // Good until the next call.
  WorkFacts of(const profile::Work& work);

 private:
  class Kept {
   public:
    template <typename Make>
    std::string_view find(uint32_t id, Make make);

   private:
    std::unordered_map<uint32_t, std::string> texts_;
    size_t bytes_ = 0;
  };

  const profile::Tables& tables_;
  std::string_view host_;  // of the whole profile, for processes that name none
  Kept devices_;
  Kept ranges_;
};

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

// Hands the rows to `put` for as long as the stream takes text: one that has failed says so at its end.
template <typename Put>
void put_rows(analyze::Walk& walk, TextStream& stream, Put put) {
  static_cast<void>(walk.run([&](const analyze::WalkRow& row) {
    put(row);
    stream.checkpoint();
    return stream.failed() ? Status(Error{}) : Status();
  }));
}

// The first value of META; empty for none.
std::string_view first_meta(const analyze::ProfileInfo& info, const char* key);

}  // namespace gpuprof::output
