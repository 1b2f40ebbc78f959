#include "profile/empty_profile.h"

#include "base/text/numbers.h"
#include "base/text/utf8.h"

namespace gpuprof::profile {

std::optional<EmptyReason> why_empty(const EmptyFacts& facts) {
  if (facts.outside_range > 0) {
    return EmptyReason{"the target launched no GPU work inside of --nvtx-range " + escaped(facts.nvtx_range),
                       "check the name and the domain of the range (" +
                           counted_text(facts.outside_range, "GPU record") + " outside of it)"};
  }
  if (facts.only_a_window) {
    return EmptyReason{"the target launched no GPU work while recording was on",
                       "record at another time, or longer" +
                           (facts.off_records == 0
                                ? std::string()
                                : " (" + counted_text(facts.off_records, "GPU record") + " while recording was off)")};
  }
  return std::nullopt;
}

}  // namespace gpuprof::profile
