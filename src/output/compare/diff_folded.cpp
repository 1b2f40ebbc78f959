#include <string>
#include <vector>

#include "analyze/names/labels.h"
#include "output/compare/diff.h"
#include "output/folded.h"

namespace gpuprof::output {
namespace {

// Rounds running sums instead of single values, so that the lines of a side add up to the side's total.
class Column {
 public:
  explicit Column(uint64_t unit) : unit_(unit) {}
  uint64_t next(uint64_t value) {
    const uint64_t before = sum_ / unit_;
    sum_ += value;
    return sum_ / unit_ - before;
  }

 private:
  uint64_t unit_;
  uint64_t sum_ = 0;
};

}  // namespace

void diff_folded(const DiffLines& lines, TextStream& out) {
  constexpr uint64_t kMicrosecond = 1000;
  Column before(lines.timed ? kMicrosecond : 1);
  Column after(lines.timed ? kMicrosecond : 1);
  std::vector<std::string> names(lines.all.functions.size());
  for (const DiffLine& line : lines.paths) {
    const compare::PathLine& path = lines.all.paths[line.line];
    const uint64_t old_value = before.next(line.difference.before.value);
    const uint64_t new_value = after.next(line.difference.after.value);
    if (old_value == 0 && new_value == 0) {
      continue;
    }
    if (path.functions.empty()) {
      out.append(std::string(analyze::kNoCpuStack) + ";");
    }
    for (const uint32_t function : path.functions) {
      if (names[function].empty()) {
        names[function] = folded_name(lines.all.functions[function].name) + ";";
      }
      out.append(names[function]);
    }
    out.append(folded_name(lines.all.kernels[path.kernel].name) + "_[G] ");
    out.text() += std::to_string(old_value) + " " + std::to_string(new_value) + "\n";
    out.checkpoint();
  }
}

}  // namespace gpuprof::output
