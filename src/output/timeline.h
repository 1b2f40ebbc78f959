// What a format that shows a recorded timeline is to the command that reads the profile.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "analyze/stack_view.h"
#include "base/result.h"
#include "profile/records.h"

namespace gpuprof::output {

class Timeline {
 public:
  // Where the bytes go, piece by piece.
  using Sink = std::function<Status(std::string_view)>;

  Timeline() = default;
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  virtual ~Timeline() = default;

  // Memory does not grow with EVENT, CALL and SPAN records, but with the tracks and the definitions.
  virtual Status add(const profile::Record& record) = 0;
  virtual Status finish() = 0;  // ends the file

  [[nodiscard]] virtual uint64_t events() const = 0;    // EVENT, CALL and SPAN records so far
  [[nodiscard]] virtual uint64_t left_out() const = 0;  // EVENTs that no track had room for
  [[nodiscard]] virtual const analyze::StackView::Trimmed& trimmed() const = 0;
};

}  // namespace gpuprof::output
