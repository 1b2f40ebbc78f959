// What a profile that is a part of another one says of itself (META, see FORMAT.md).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/records.h"

namespace gpuprof::analyze {

inline constexpr std::string_view kFilterKey = "filter";            // what was kept
inline constexpr std::string_view kLeftOutKey = "filter.left_out";  // what could not be told to be of that
inline constexpr std::string_view kPartPrefix = "part.";
inline constexpr std::string_view kPartOf = "part.of";        // the same in all parts of one `split`
inline constexpr std::string_view kPartWhich = "part.which";  // "process 4242 train, of a profile split by process"
inline constexpr std::string_view kPartCount = "part.count";  // how many parts there are; known at the end

// "only what matches --rank 0", of a filtered profile or of parts; empty for a whole one.
std::string part_text(const std::multimap<std::string, std::string>& meta);

// The same as a warning; empty for a whole one.
std::string part_warning(const std::multimap<std::string, std::string>& meta);

// The parts that a merge has met. Where all parts of a whole come together, the result is no part any more.
class PartsSeen {
 public:
  // An input begins. `of` is its META part.of, empty for what is no part.
  void begin_input(std::string_view of);

  // Whether the key is one that parts have, of an input that is a part: the result's lines come from rest().
  bool take(std::string_view key, std::string_view value);

  // Each part has the windows of the whole, all of them: whether this is the first input that has it so often.
  bool is_new(const profile::Window& window);

  using Lines = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Lines rest() const;

 private:
  struct Group {  // the parts of one whole
    std::set<std::string> which;
    std::set<std::string> counts;
    size_t inputs = 0;
    Lines inherited;                                          // of a whole that was a part itself, once each
    std::map<std::pair<uint64_t, uint64_t>, size_t> windows;  // how many of them are in the result
    [[nodiscard]] bool complete() const {
      return counts.size() == 1 && inputs == which.size() && *counts.begin() == std::to_string(which.size());
    }
  };
  std::map<std::string, Group, std::less<>> groups_;
  Group* current_ = nullptr;
  std::map<std::pair<uint64_t, uint64_t>, size_t> windows_;  // of the input
};

}  // namespace gpuprof::analyze
