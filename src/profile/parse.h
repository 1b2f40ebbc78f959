// Parses one line into one record. Internal to the reader.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/records.h"

namespace gpuprof::profile {

struct Line {
  char* begin = nullptr;
  char* end = nullptr;  // end of the content, which a newline or "\r\n" follows
};

// Limits of stack frames and inlined functions, to bound the memory for a hostile line. Real code has fewer.
inline constexpr size_t kMostFrames = 65536;
inline constexpr size_t kMostPlaceFrames = 1024;

inline constexpr const char* kNoRecord = "this is not a record: a line begins with its kind, in upper case";

// Checks that sum_ns can be the sum of `count` values between min_ns and max_ns.
template <typename Sums>
constexpr bool is_plausible(const Sums& r) {
  return Uint128{r.count} * r.min_ns <= r.sum_ns && r.sum_ns <= Uint128{r.count} * r.max_ns;
}

struct ParseContext {
  std::vector<StackElement> elements;  // memory for the span of a Stack
  std::vector<FrameId> frames;         // memory for the span of a GpuPlace
  // Memory for the span of a Latency, and of a Duration or Blocks.
  std::tuple<std::vector<Latency::Bucket>, std::vector<Duration::Bucket>> buckets;
  uint64_t remarks = 0;
  std::string reason;  // why parse_line() returned no record
};

// Parses `line` into `record`. If that fails, leaves `record` empty and sets context.reason. Unescapes text in the
// memory of `line`.
void parse_line(Line line, ParseContext& context, std::optional<Record>& record);

// Returns whether a later version of gpuprof could use the text as a new kind.
bool looks_like_a_kind(std::string_view text);

}  // namespace gpuprof::profile
