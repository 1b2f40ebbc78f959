#include "analyze/call_path.h"

#include <tuple>

#include "analyze/labels.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

void append_stack(StackView& view, bool kernel, p::StackId id, std::vector<std::string>& path) {
  for (const uint32_t frame : view.frames(kernel, id)) {
    path.push_back(view.label(frame));
  }
}

auto fields(const PathKey& key) {
  return std::tie(key.process, key.ustack, key.kstack, key.work, key.capture, key.no_capture, key.unsampled);
}

}  // namespace

const char* no_capture_label(const p::Work& work) {
  return (work.flags & p::kWorkAttached) != 0 ? "[captured before recording]" : "[capture not known]";
}

bool PathKey::operator<(const PathKey& other) const {
  return fields(*this) < fields(other);
}

PathKey path_key(const p::Tables& tables, const p::Work& work, StackView& view) {
  const bool has_stack = index(work.ustack) != 0 || index(work.kstack) != 0;
  return {.process = std::string(process_label(tables, work)),
          .ustack = view.representative(false, work.ustack),
          .kstack = view.representative(true, work.kstack),
          .work = work_label(tables, work),
          .capture = view.representative(false, work.capture),
          .no_capture = index(work.capture) == 0 && (work.flags & p::kWorkGraphNode) != 0 ? no_capture_label(work) : "",
          .unsampled = (work.flags & p::kWorkUnsampled) != 0 && !has_stack};
}

PathKey path_key(const Aggregate& rows, const Row& row, StackView& view) {
  if (row.kind != RowKind::stall) {
    return path_key(rows.tables, rows.work(row), view);
  }
  const StallKey& stall = rows.stall(row);
  return {.process = std::string(process_label(rows, row)),
          .ustack = view.representative(false, stall.ustack),
          .kstack = view.representative(true, stall.kstack),
          .work = work_label(rows, row)};
}

std::vector<std::string> call_path(const PathKey& key, StackView& view) {
  std::vector<std::string> path;
  append_stack(view, false, key.ustack, path);
  append_stack(view, true, key.kstack, path);
  if (path.empty()) {
    const bool hidden = view.is_hidden(false, key.ustack) || view.is_hidden(true, key.kstack);
    path.emplace_back(hidden ? kAllHidden : key.unsampled ? kNotSampled : std::string(kNoCpuStack));
  }
  if (index(key.capture) != 0) {
    path.emplace_back(kCapturedAt);
    append_stack(view, false, key.capture, path);
    if (view.is_hidden(false, key.capture)) {
      path.emplace_back(kAllHidden);
    }
  } else if (!key.no_capture.empty()) {
    path.push_back(key.no_capture);
  }
  return path;
}

}  // namespace gpuprof::analyze
