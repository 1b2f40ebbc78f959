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

struct ParseContext {
  int major = kFormatMajor;              // 0: the published form: nothing is escaped, fewer kinds
  std::vector<StackElement> elements;    // what a Stack's span points to
  std::vector<Latency::Bucket> buckets;  // what a Latency's span points to
  Work version1_work;                    // of version 1, where a GPU or LAUNCH line holds what a WORK says; no id
  uint64_t remarks = 0;                  // META, LOSS and COVERAGE lines so far
  FrameId interpreter{};                 // the frame that the last line said to be the interpreter's
  std::string reason;                    // why parse_line() gave nothing; empty: the line tells of the next one only
};

// Nothing, with context.reason set, for a line that is no record; nothing, too, for one that says something of the next
// line, whose record then has it. Text is unescaped in place: a line is parsed once.
// In version 1 a Gpu or Launch comes without its WORK's id, which is for the caller to find by context.version1_work.
std::optional<Record> parse_line(Line line, ParseContext& context);

// The kinds that a profile in the published form can begin with.
bool is_published_kind(std::string_view kind);
bool is_published_kind_prefix(std::string_view text);  // what a file cut within its first word begins with

}  // namespace gpuprof::profile
