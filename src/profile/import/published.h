// Converts the published form of stall samples into gpuprof records, so that no other code depends on this form. It
// has no header line, no escapes and eight kinds of lines. Internal to the reader.
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

// The index is a stall_type.
inline constexpr std::array<std::string_view, 11> kStallReasons = {
    "", "active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr"};

class PublishedForm {
 public:
  // True for the kinds that a file in this form can begin with.
  static bool is_kind(std::string_view kind);
  static bool is_kind_prefix(std::string_view text);  // whether the name of such a kind begins with `text`

  // Returns the line's first record; nullopt if the line holds nothing new, or if it is bad (then sets `reason`).
  std::optional<Record> take(Line line, std::string& reason);

  // Returns the next record of the line. Its views are valid until the next take().
  std::optional<Record> next();

 private:
  // The kinds of text, each with its own ids. All become STRING records.
  enum Text : uint8_t { kString, kGpuFile, kGpuSymbol, kInsnText, kTexts };
  struct Stall;

  bool take_text(Text kind, Fields& in);
  bool take_process_name(Fields& in);
  bool take_stack(bool kernel, Fields& in);
  bool take_stall(Fields& in);
  bool check(const Stall& stall);
  bool defined(Text kind, uint32_t id);

  StringId add_string(std::string_view value);
  [[nodiscard]] StringId string(Text kind, uint32_t id) const;  // the id must be defined, or 0
  StringId reason_name(uint32_t stall_type);

  std::array<IdIndex, kTexts> texts_;  // the file's ids -> STRING ids
  std::vector<size_t> text_hashes_;    // index: STRING id - 1
  std::array<IdIndex, 2> stacks_;      // [0] USTACK, [1] KSTACK: the defined ids
  std::unordered_map<uint32_t, StringId> reasons_;
  std::string reason_text_;
  std::vector<StackElement> elements_;
  StallRecords records_;
  std::string undefined_;  // why the last line is bad, although its fields could be parsed
};

}  // namespace gpuprof::profile
