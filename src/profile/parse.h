// One line -> one record. Internal to the reader.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/records.h"

namespace gpuprof::profile {

struct Line {
  char* begin = nullptr;
  char* end = nullptr;  // of the content; the line's newline (or "\r\n") is there
};

// More frames than any real stack has, and more inlined functions; they keep a hostile line's memory bounded.
inline constexpr size_t kMostFrames = 65536;
inline constexpr size_t kMostPlaceFrames = 1024;

inline constexpr const char* kNoRecord = "this is not a record: a line begins with its kind, in upper case";

// The sum must be possible for that many values between min and max.
template <typename Sums>
constexpr bool is_plausible(const Sums& r) {
  return Uint128{r.count} * r.min_ns <= r.sum_ns && r.sum_ns <= Uint128{r.count} * r.max_ns;
}

struct ParseContext {
  std::vector<StackElement> elements;    // what a Stack's span points to
  std::vector<FrameId> frames;           // what a GpuPlace's span points to
  std::vector<Latency::Bucket> buckets;  // what a Latency's span points to
  uint64_t remarks = 0;                  // META, LOSS and COVERAGE lines so far
  std::string reason;                    // why parse_line() gave nothing
};

// Nothing in `record`, with context.reason set, for a line that is no record. Text is unescaped in place: a line is
// parsed once.
void parse_line(Line line, ParseContext& context, std::optional<Record>& record);

// What a later version may call a new kind.
bool looks_like_a_kind(std::string_view text);

}  // namespace gpuprof::profile
