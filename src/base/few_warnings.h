// Prints only the first warnings of one kind, because targets or other users could cause any number of them.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"

namespace gpuprof {

class FewWarnings {
 public:
  static constexpr unsigned kMost = 10;

  void warn(std::string message, std::string_view hint = {}) {
    if (printed_ == kMost) {
      return;
    }
    if (++printed_ == kMost) {
      message += " (later ones are not shown)";
    }
    log::warn(message, hint);
  }

 private:
  unsigned printed_ = 0;
};

}  // namespace gpuprof
