#include "analyze/rows/row_filter.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace gpuprof::analyze {

namespace p = gpuprof::profile;

bool RowFilter::matches_name(const p::Work& work) {
  const std::string_view name = texts_.work_label(work);
  const auto [known, is_new] = names_.try_emplace(name.data(), false);
  if (is_new) {
    known->second = work_->matches(std::string(name));
  }
  return known->second;
}

bool RowFilter::matches_path(const p::Work& work) {
  return matches_stack(false, work.ustack) || matches_stack(true, work.kstack) || matches_stack(false, work.capture);
}

bool RowFilter::matches_stack(bool kernel, p::StackId id) {
  if (index(id) == 0) {
    return false;
  }
  const auto [known, is_new] = stacks_.try_emplace(join_ids(kernel ? 1 : 0, index(id)), false);
  if (is_new) {
    StackView& view = texts_.view();
    for (const uint32_t frame : view.frames(kernel, id)) {
      const auto [matched, is_new_frame] = frames_.try_emplace(frame, false);
      if (is_new_frame) {
        matched->second = path_->matches(view.label(frame));
      }
      if (matched->second) {
        known->second = true;
        break;
      }
    }
  }
  return known->second;
}

}  // namespace gpuprof::analyze
