#include <algorithm>
#include <string>
#include <vector>

#include "analyze/names/labels.h"
#include "output/compare/diff.h"
#include "output/folded.h"

namespace gpuprof::output {
TooShort diff_folded(const DiffLines& lines, TextStream& out) {
  const uint64_t unit = lines.timed ? 1000 : 1;
  TooShort too_short;
  std::vector<std::string> names(lines.all.functions.size());
  for (const DiffLine& line : lines.paths) {
    const compare::PathLine& path = lines.all.paths[line.line];
    const compare::Difference& difference = line.difference;
    const uint64_t old_value = rounded_weight(difference.before.value, unit);
    const uint64_t new_value = rounded_weight(difference.after.value, unit);
    if (old_value == 0 && new_value == 0) {
      const uint64_t most = std::max(difference.before.value, difference.after.value);
      too_short.stacks += most > 0 ? 1 : 0;
      too_short.ns += most;
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
    out.append(folded_name(lines.all.kernels[path.kernel].name) +
               (lines.measure() == analyze::Measure::gpu ? "_[G] " : " "));
    out.text() += std::to_string(old_value) + " " + std::to_string(new_value) + "\n";
    out.checkpoint();
  }
  return too_short;
}

}  // namespace gpuprof::output
