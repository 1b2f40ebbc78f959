// What to try against the causes of idle time.
#pragma once

#include <string_view>

namespace gpuprof::output {

struct Advice {
  std::string_view cause;  // the beginning of the causes that it is for, such as "waits: futex"
  std::string_view text;   // a sentence
};

// Returns the advice for an analyze::IdleCause; null if there is none.
const Advice* advice_for(std::string_view cause);

}  // namespace gpuprof::output
