#include "analyze/summarize.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyze/labels.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

struct Sum {
  Weight weight;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;

  void add(const Row& row) {
    weight.ns += row.weight.ns;
    weight.count += row.weight.count;
    weight.bytes += row.weight.bytes;
    if (row.key.kind == RowKind::gpu && row.weight.count > 0) {
      min_ns = std::min(min_ns, row.min_ns);
      max_ns = std::max(max_ns, row.max_ns);
    }
  }
  [[nodiscard]] SummaryLine line() const {
    SummaryLine line;
    line.weight = weight;
    line.min_ns = min_ns == UINT64_MAX ? 0 : min_ns;
    line.max_ns = max_ns;
    return line;
  }
};

// A row belongs to the work with its label, and to the call path of its process label, stacks and work.
using PathKey = std::tuple<std::string, uint32_t, uint32_t, std::string>;

std::vector<std::string> call_path(const p::Tables& tables, uint32_t ustack, uint32_t kstack) {
  std::vector<std::string> path;
  for (const bool kernel : {false, true}) {
    for (const p::Element element : tables.stack(kernel, p::StackId{kernel ? kstack : ustack})) {
      path.push_back(frame_label(tables, element, {}));
    }
  }
  if (path.empty()) {
    path.emplace_back(kNoCpuStack);
  }
  return path;
}

// Heaviest first; equal ones by name, so that a report does not depend on the order of the records.
template <typename Entry, typename WeightOf>
void keep_heaviest(std::vector<Entry>& entries, size_t top, bool timed, WeightOf weight_of) {
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    const Weight& x = weight_of(a);
    const Weight& y = weight_of(b);
    const auto measure = [timed](const Weight& w) {
      return timed ? std::pair(w.ns, w.count) : std::pair(w.count, w.ns);
    };
    return measure(x) != measure(y) ? measure(x) > measure(y) : a->first < b->first;
  });
  if (top != 0 && entries.size() > top) {
    entries.resize(top);
  }
}

}  // namespace

Summary summarize(const Aggregate& rows, size_t top) {
  Summary summary;
  summary.info = rows.info;
  summary.total = rows.total;
  summary.timed =
      rows.info.kind == ProfileKind::durations || (rows.info.kind == ProfileKind::mixed && rows.total.ns > 0);

  std::map<std::string, Sum> work;
  std::map<PathKey, Sum> paths;
  for (const Row& row : rows.rows) {
    const std::string label = work_label(rows.tables, row.key);
    work[label].add(row);
    paths[{std::string(process_label(rows.tables, row.key)), index(row.key.ustack), index(row.key.kstack), label}].add(
        row);
  }

  const auto weight_of = [](const auto& entry) -> const Weight& { return entry->second.weight; };
  std::vector<std::map<std::string, Sum>::const_iterator> top_work;
  for (auto it = work.cbegin(); it != work.cend(); ++it) {
    top_work.push_back(it);
  }
  keep_heaviest(top_work, top, summary.timed, weight_of);
  for (const auto& entry : top_work) {
    SummaryLine& line = summary.work.emplace_back(entry->second.line());
    line.work = entry->first;
  }

  std::vector<std::map<PathKey, Sum>::const_iterator> top_paths;
  for (auto it = paths.cbegin(); it != paths.cend(); ++it) {
    top_paths.push_back(it);
  }
  keep_heaviest(top_paths, top, summary.timed, weight_of);
  for (const auto& entry : top_paths) {
    const auto& [process, ustack, kstack, label] = entry->first;
    SummaryLine& line = summary.call_paths.emplace_back(entry->second.line());
    line.process = process;
    line.work = label;
    line.path = call_path(rows.tables, ustack, kstack);
  }
  return summary;
}

}  // namespace gpuprof::analyze
