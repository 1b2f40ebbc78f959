// The published form of stall samples: no header line, nothing escaped, eight kinds of lines. Nobody else knows of it,
// as its lines become records of our own format. Internal to the reader.
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

// By stall_type.
inline constexpr std::array<std::string_view, 11> kStallReasons = {
    "", "active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr"};

class PublishedForm {
 public:
  // The kinds that a file in this form can begin with.
  static bool is_kind(std::string_view kind);
  static bool is_kind_prefix(std::string_view text);  // what a file cut within its first word begins with

  // The first record of what the line says. Nothing where it says nothing new, or, with `reason`, is bad.
  std::optional<Record> take(Line line, std::string& reason);

  // The line's further records, one a call. What their views point to is valid until the next take().
  std::optional<Record> next();

 private:
  // Texts with ids of their own. The last three become STRING records, too.
  enum Text : uint8_t { kString, kGpuFile, kGpuSymbol, kInsnText, kTexts };
  struct Stall;

  bool take_text(Text kind, Fields& in);
  bool take_process_name(Fields& in);
  bool take_stack(bool kernel, Fields& in);
  bool take_stall(Fields& in);
  bool check(const Stall& stall);
  bool defined(Text kind, uint32_t id);

  StringId add_string(std::string_view value);
  [[nodiscard]] StringId string(Text kind, uint32_t id) const;  // of an id that is defined, or 0
  StringId reason_name(uint32_t stall_type);

  std::array<IdIndex, kTexts> texts_;  // their ids -> STRING ids
  std::vector<size_t> text_hashes_;    // by STRING id - 1
  std::array<IdIndex, 2> stacks_;      // of KSTACK or not: which ids there are
  std::unordered_map<uint32_t, StringId> reasons_;
  std::string reason_text_;
  std::vector<StackElement> elements_;
  StallRecords records_;
  std::string undefined_;  // why a line is bad that is well-formed
};

}  // namespace gpuprof::profile
