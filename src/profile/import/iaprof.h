// Converts profiles of Intel's iaprof into gpuprof records, so that other code does not depend on that format. Such a
// profile holds stall samples as lines of fields with tabs between them, in one of four dialects. Internal to the
// reader.
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
  // Returns whether a file in this form can begin with a line of this kind.
  static bool is_kind(std::string_view kind);
  static bool is_kind_prefix(std::string_view text);  // whether the name of such a kind begins with `text`

  // Returns the line's first record. Returns nullopt if the line holds nothing new, or if it is bad. In that case,
  // sets `reason`.
  std::optional<Record> take(Line line, std::string& reason);

  // Returns the next record of the line. Its views are valid until the next take().
  std::optional<Record> next() { return records_.next(); }

 private:
  class IaprofFields;

  // The process, stacks and kernel to which samples belong. In the dialect "whole lines" (FORMAT.md), each line has
  // all fields. In the other two dialects, a field keeps its value until a line changes it. A TextId is the id of a
  // string in the file, or of a STRING record.
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
  bool take_stall(IaprofFields& in);         // parses `eustall`
  bool take_whole_stall(IaprofFields& in);   // parses the dialect "whole lines"
  bool take_stall_texts(IaprofFields& in);   // parses the dialect "texts"
  bool take_stall_counts(IaprofFields& in);  // parses the dialect "counts"
  bool take_short_stall(IaprofFields& in);   // parses `e`, of the dialect "states"
  bool add_sample(const FileOrigin& origin, uint64_t stall, uint64_t offset, uint64_t count);
  bool resolve(const FileOrigin& origin, OwnOrigin& own);
  void add_sample(const OwnOrigin& origin, StringId reason, uint64_t offset, uint64_t count);

  bool string(uint64_t id, StringId& name);  // returns false if `id` is undefined; id 0 means name 0
  bool is_stack(bool kernel, StringId id);
  void define_stack(bool kernel, StringId id);
  StringId reason_of_column(size_t column);
  StringId intern(std::string_view text);
  bool fail(std::string reason);

  StallRecords records_;
  std::unordered_map<uint64_t, StringId> strings_;      // from an id in the file to the id of a STRING
  std::unordered_map<std::string, StringId> interned_;  // texts that have no id in the file
  // The index is the id of a STRING minus 1. The stacks point to these strings, and a deque does not move them.
  std::deque<std::string> texts_;
  // The STRING ids that are stacks: [0] for USTACK, [1] for KSTACK.
  std::array<IdIndex, 2> stacks_;
  IdIndex modules_;  // the STRING ids that are GPU_MODULEs
  // Names of the stall types in the dialect "counts". The index is the stall_type.
  std::array<StringId, 11> reasons_{};
  std::deque<std::vector<StackElement>> elements_;  // stacks of the current line
  // The last value of each field, for lines that do not have the field.
  FileOrigin origin_;
  bool begun_ = false;
  bool timed_ = false;
  // Time of the first interval. If the profile has no times, the interval's number * kSliceNs.
  uint64_t first_ns_ = 0;
  uint64_t slice_ = 0;
  std::string reason_;
};

}  // namespace gpuprof::profile
