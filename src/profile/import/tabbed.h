// The stored profiles of Intel's iaprof: stall samples as lines of fields that tabs part, in the three dialects that it
// has had. Nobody else knows of them, as their lines become records of our own format. Internal to the reader.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/id_index.h"
#include "profile/import/stall_records.h"
#include "profile/parse.h"
#include "profile/records.h"

namespace gpuprof::profile {

class TabbedForm {
 public:
  // The kinds that a file in this form can begin with.
  static bool is_kind(std::string_view kind);
  static bool is_kind_prefix(std::string_view text);  // what a file cut within its first word begins with

  // The first record of what the line says. Nothing where it says nothing new, or, with `reason`, is bad.
  std::optional<Record> take(Line line, std::string& reason);

  // The line's further records, one a call. What their views point to is valid until the next take().
  std::optional<Record> next() { return records_.next(); }

 private:
  class TabFields;

  // Whose samples are: all of it in a line of the first dialect, what was said last in the others. A text is a string's
  // id in the file, or ours.
  template <typename TextId>
  struct SampleOrigin {
    TextId process_name{};
    uint32_t pid = 0;
    TextId ustack{};
    TextId kstack{};
    TextId file{};
    TextId symbol{};
    TextId instruction{};
  };
  using FileOrigin = SampleOrigin<uint64_t>;
  using OwnOrigin = SampleOrigin<StringId>;

  bool take_kind(std::string_view kind, TabFields& in, bool& known);
  bool take_string(TabFields& in);
  bool take_interval(std::string_view kind, TabFields& in);
  bool take_field(uint64_t FileOrigin::*field, TabFields& in);
  bool take_pid(TabFields& in);
  bool take_kernel(TabFields& in);
  bool take_stall(TabFields& in);         // `eustall`
  bool take_whole_stall(TabFields& in);   // of the first dialect
  bool take_stall_counts(TabFields& in);  // of the third
  bool take_short_stall(TabFields& in);   // `e`, of the second
  bool add_sample(const FileOrigin& origin, uint64_t stall, uint64_t offset, uint64_t count);
  bool resolve(const FileOrigin& origin, OwnOrigin& own);
  void add_sample(const OwnOrigin& origin, StringId reason, uint64_t offset, uint64_t count);

  bool string(uint64_t id, StringId& name);  // false where it is not defined; 0 is none
  bool is_stack(bool kernel, StringId id);
  void define_stack(bool kernel, StringId id);
  StringId reason_of_column(size_t column);
  bool fail(std::string reason);

  StallRecords records_;
  std::unordered_map<uint64_t, StringId> strings_;  // their ids -> ours
  std::deque<std::string> texts_;                   // by our id - 1: stacks are made of them, and point to them
  std::array<IdIndex, 2> stacks_;                   // of KSTACK or not: our ids of strings that have become one
  IdIndex modules_;                                 // the same of GPU_MODULE
  std::array<StringId, 11> reasons_{};              // of the third dialect, by stall_type
  std::deque<std::vector<StackElement>> elements_;  // of the line's stacks
  FileOrigin origin_;                               // as said last
  bool begun_ = false;
  bool timed_ = false;
  uint64_t first_ns_ = 0;  // the first interval's time, or its number in slices
  uint64_t slice_ = 0;
  std::string reason_;
};

}  // namespace gpuprof::profile
