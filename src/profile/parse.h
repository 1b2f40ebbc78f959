// Parses one line into one record. Internal to the reader.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/records.h"

namespace gpuprof::profile {

struct Line {
  char* begin = nullptr;
  char* end = nullptr;  // end of the content; the newline (or "\r\n") follows
};

// More stack frames and inlined functions than real code has. These limits bound the memory for a hostile line.
inline constexpr size_t kMostFrames = 65536;
inline constexpr size_t kMostPlaceFrames = 1024;

inline constexpr const char* kNoRecord = "this is not a record: a line begins with its kind, in upper case";

// Checks that `count` values between min_ns and max_ns can have the sum sum_ns.
template <typename Sums>
constexpr bool is_plausible(const Sums& r) {
  return Uint128{r.count} * r.min_ns <= r.sum_ns && r.sum_ns <= Uint128{r.count} * r.max_ns;
}

struct ParseContext {
  std::vector<StackElement> elements;    // what a Stack's span points to
  std::vector<FrameId> frames;           // what a GpuPlace's span points to
  std::vector<Latency::Bucket> buckets;  // what a Latency's span points to
  uint64_t remarks = 0;                  // META, LOSS and COVERAGE lines so far
  std::string reason;                    // why parse_line() returned no record
};

// Parses `line` into `record`, or leaves `record` empty and sets context.reason. Unescapes the text of `line` in place.
void parse_line(Line line, ParseContext& context, std::optional<Record>& record);

// True if a later version could use the text as a new kind.
bool looks_like_a_kind(std::string_view text);

}  // namespace gpuprof::profile
