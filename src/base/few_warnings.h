// Limits warnings of one kind that others could cause without end: only the first ones are printed.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"

namespace gpuprof {

class FewWarnings {
 public:
  static constexpr unsigned kMost = 10;

  void warn(std::string message, std::string_view hint = {}) {
    if (told_ == kMost) {
      return;
    }
    if (++told_ == kMost) {
      message += " (later ones are not shown)";
    }
    log::warn(message, hint);
  }

 private:
  unsigned told_ = 0;
};

}  // namespace gpuprof
