// Converts profiles of Intel's iaprof into gpuprof records, so that no other code depends on that format. They hold
// stall samples as lines of tab-separated fields, in three dialects. Internal to the reader.
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

class IaprofForm {
 public:
  // True for the kinds that a file in this form can begin with.
  static bool is_kind(std::string_view kind);
  static bool is_kind_prefix(std::string_view text);  // whether the name of such a kind begins with `text`

  // Returns the line's first record; nullopt if the line holds nothing new, or if it is bad (then sets `reason`).
  std::optional<Record> take(Line line, std::string& reason);

  // Returns the next record of the line. Its views are valid until the next take().
  std::optional<Record> next() { return records_.next(); }

 private:
  class IaprofFields;

  // The process, stacks and kernel that samples belong to. In the dialect "whole lines" (FORMAT.md), each
  // line holds all fields. In the two others, each field keeps its most recent value. A TextId is the id of a string
  // in the file, or of a STRING record.
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

  bool take_kind(std::string_view kind, IaprofFields& in, bool& known);
  bool take_string(IaprofFields& in);
  bool take_interval(std::string_view kind, IaprofFields& in);
  bool take_field(uint64_t FileOrigin::*field, IaprofFields& in);
  bool take_pid(IaprofFields& in);
  bool take_kernel(IaprofFields& in);
  bool take_stall(IaprofFields& in);         // `eustall`
  bool take_whole_stall(IaprofFields& in);   // first dialect
  bool take_stall_counts(IaprofFields& in);  // third dialect
  bool take_short_stall(IaprofFields& in);   // `e`, second dialect
  bool add_sample(const FileOrigin& origin, uint64_t stall, uint64_t offset, uint64_t count);
  bool resolve(const FileOrigin& origin, OwnOrigin& own);
  void add_sample(const OwnOrigin& origin, StringId reason, uint64_t offset, uint64_t count);

  bool string(uint64_t id, StringId& name);  // false if `id` is undefined; id 0 gives name 0
  bool is_stack(bool kernel, StringId id);
  void define_stack(bool kernel, StringId id);
  StringId reason_of_column(size_t column);
  bool fail(std::string reason);

  StallRecords records_;
  std::unordered_map<uint64_t, StringId> strings_;  // the file's ids -> STRING ids
  std::deque<std::string> texts_;       // index: STRING id - 1; a deque because the stacks point to its strings
  std::array<IdIndex, 2> stacks_;       // [0] USTACK, [1] KSTACK: ids of the STRINGs that are stacks
  IdIndex modules_;                     // ids of the STRINGs that are GPU_MODULEs
  std::array<StringId, 11> reasons_{};  // names of stall types in the dialect "counts"; index: stall_type
  std::deque<std::vector<StackElement>> elements_;  // stacks of the current line
  FileOrigin origin_;                               // most recent value of each field, for lines without that field
  bool begun_ = false;
  bool timed_ = false;
  uint64_t first_ns_ = 0;  // time of the first interval; without times: its number * kSliceNs
  uint64_t slice_ = 0;
  std::string reason_;
};

}  // namespace gpuprof::profile
