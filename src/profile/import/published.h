// Converts the published form of stall samples into gpuprof records, so that other code does not depend on this form.
// It has eight kinds of lines, and neither a header line nor escapes. Internal to the reader.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/fields.h"
#include "profile/id_index.h"
#include "profile/import/stall_records.h"
#include "profile/parse.h"
#include "profile/records.h"

namespace gpuprof::profile {

inline constexpr std::array<std::string_view, 11> kStallReasons = {
    "", "active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr"};

class PublishedForm {
 public:
  // Returns whether a file in this form can begin with a line of this kind.
  static bool is_kind(std::string_view kind);
  static bool is_kind_prefix(std::string_view text);  // whether the name of such a kind begins with `text`

  // Returns the line's first record. Returns nullopt if the line holds nothing new, or if it is bad. In that case,
  // sets `reason`.
  std::optional<Record> take(Line line, std::string& reason);

  // Returns the next record of the line. Its views are valid until the next take().
  std::optional<Record> next();

 private:
  // The kinds of text. Each kind has its own ids, but all become STRING records.
  enum Text : uint8_t { kString, kGpuFile, kGpuSymbol, kInsnText, kTexts };
  struct Stall;

  bool take_text(Text kind, Fields& in);
  bool take_process_name(Fields& in);
  bool take_stack(bool kernel, Fields& in);
  bool take_stall(Fields& in);
  bool check(const Stall& stall);
  bool defined(Text kind, uint32_t id);

  StringId add_string(std::string_view value);
  [[nodiscard]] StringId string(Text kind, uint32_t id) const;  // `id` must be defined or 0
  StringId reason_name(uint32_t stall_type);

  std::array<IdIndex, kTexts> texts_;  // from an id in the file to the id of a STRING
  std::vector<size_t> text_hashes_;    // the index is the id of a STRING minus 1
  std::array<IdIndex, 2> stacks_;      // the defined ids: [0] for USTACK, [1] for KSTACK
  std::unordered_map<uint32_t, StringId> reasons_;
  std::string reason_text_;
  std::vector<StackElement> elements_;
  StallRecords records_;
  std::string undefined_;  // why the last line is bad, although all its fields are well-formed
};

}  // namespace gpuprof::profile
