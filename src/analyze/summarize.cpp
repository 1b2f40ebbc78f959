#include "analyze/summarize.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/call_path.h"
#include "analyze/dimensions.h"
#include "analyze/labels.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

struct Sum {
  Weight weight;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;

  void add(const Row& row) {
    weight += row.weight;
    if ((row.kind == RowKind::gpu || row.kind == RowKind::host) && row.weight.count > 0) {
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

// What decides the order of lines; the second number only where the first is equal.
enum class Order : uint8_t { ns, count, bytes };

std::pair<uint64_t, uint64_t> measure(const Weight& weight, Order order) {
  switch (order) {
    case Order::ns:
      return {weight.ns, weight.count};
    case Order::count:
      return {weight.count, weight.ns};
    case Order::bytes:
      return {weight.bytes, weight.count};
  }
  return {};
}

// Heaviest first; equal ones by name, so that a report does not depend on the order of the records.
template <typename Sums>
std::vector<typename Sums::const_iterator> heaviest(const Sums& sums, Order order, size_t top) {
  std::vector<typename Sums::const_iterator> entries;
  for (auto it = sums.cbegin(); it != sums.cend(); ++it) {
    entries.push_back(it);
  }
  std::sort(entries.begin(), entries.end(), [order](const auto& a, const auto& b) {
    const auto x = measure(a->second.weight, order);
    const auto y = measure(b->second.weight, order);
    return x != y ? x > y : a->first < b->first;
  });
  if (top != 0 && entries.size() > top) {
    entries.resize(top);
  }
  return entries;
}

// A row belongs to the work with its label, and to the call path of its process label, stacks and work.
struct TextLess {
  // Equal texts are mostly one text, and it may be long.
  bool operator()(std::string_view a, std::string_view b) const {
    return (a.data() != b.data() || a.size() != b.size()) && a < b;
  }
};
using WorkSums = std::map<std::string_view, Sum, TextLess>;
using PathSums = std::map<PathKey, Sum>;

std::vector<SummaryLine> work_lines(const WorkSums& sums, Order order, size_t top) {
  std::vector<SummaryLine> lines;
  for (const auto& entry : heaviest(sums, order, top)) {
    SummaryLine& line = lines.emplace_back(entry->second.line());
    line.work = entry->first;
  }
  return lines;
}

std::vector<SummaryLine> path_lines(const std::shared_ptr<PathTexts>& texts, const PathSums& sums, Order order,
                                    size_t top) {
  std::vector<SummaryLine> lines;
  for (const auto& entry : heaviest(sums, order, top)) {
    SummaryLine& line = lines.emplace_back(entry->second.line());
    line.process = entry->first.process;
    line.work = entry->first.work;
    line.path = CallPath(entry->first, texts);
  }
  return lines;
}

// The devices that had work.
std::vector<DeviceLine> device_lines(const Aggregate& rows) {
  std::vector<DeviceLine> lines;
  if (!rows.has_shares) {
    return lines;
  }
  struct Use {
    Weight weight;
    uint64_t busy_ns = 0;
    uint64_t idle_ns = 0;
  };
  std::unordered_map<uint32_t, Use> uses;
  for (const Row& row : rows.rows) {
    if (row.kind == RowKind::gpu) {
      Use& use = uses[index(rows.work(row).device)];
      use.weight += row.weight;
      use.busy_ns += row.busy_ns;
    }
  }
  for (const IdleRow& row : rows.idle) {
    uses[index(row.device)].idle_ns += row.ns;
  }
  for (const p::Device& device : rows.tables.devices()) {
    const auto use = uses.find(index(device.id));
    if (use != uses.end() && use->second.busy_ns + use->second.idle_ns > 0) {
      lines.push_back(
          {device_label(rows.tables, device.id), use->second.weight, use->second.busy_ns, use->second.idle_ns});
    }
  }
  return lines;
}

void summarize_host(const Aggregate& rows, size_t top, Summary& summary) {
  PathTexts& texts = *summary.texts;
  WorkSums work;
  PathSums waits;
  PathSums allocations;
  for (const Row& row : rows.host) {
    work[texts.work(rows.work(row))].add(row);
    const p::Op op = rows.work(row).op;
    if (op == p::Op::sync) {
      waits[texts.key(rows.work(row))].add(row);
      summary.wait_total += row.weight;
    } else if (op == p::Op::alloc) {
      allocations[texts.key(rows.work(row))].add(row);
      summary.allocation_total += row.weight;
    }
  }
  summary.host_work = work_lines(work, Order::ns, top);
  summary.waits = path_lines(summary.texts, waits, Order::ns, top);
  summary.allocations = path_lines(summary.texts, allocations, Order::bytes, top);
}

struct SampleSums {
  std::unordered_map<uint32_t, uint64_t> works;  // by id, as all three
  std::map<uint32_t, Sum> reasons;
  std::map<uint32_t, Sum> places;
};

SampleSums sum_samples(const Aggregate& rows) {
  SampleSums sums;
  for (const SampleRow& row : rows.samples) {
    sums.works[index(row.key.work)] += row.count;
    sums.reasons[index(row.key.reason)].weight.count += row.count;
    sums.places[index(row.key.place)].weight.count += row.count;
  }
  return sums;
}

PlaceLine place_line(const p::Tables& tables, p::GpuPlaceId id, uint64_t samples) {
  PlaceLine line{.samples = samples};
  const p::GpuPlace* const place = tables.gpu_place(id);
  if (place == nullptr) {
    return line;
  }
  line.function = tables.text(place->function);
  line.offset = place->offset;
  line.instruction = tables.text(place->instruction);
  if (const auto frames = tables.place_frames(id); !frames.empty()) {
    const p::Frame& innermost = tables.frame(frames.back());
    line.source_function = tables.text(innermost.name);
    line.file = tables.text(innermost.file);
    line.line = innermost.line;
  }
  return line;
}

// `work` and `paths` get what samples there are of each.
void summarize_samples(const Aggregate& rows, size_t top, WorkSums& work, PathSums& paths, Summary& summary) {
  const SampleSums sums = sum_samples(rows);
  for (const auto& [id, count] : sums.works) {
    const PathKey key = summary.texts->key(*rows.tables.work(p::WorkId{id}));
    work[key.work].weight.count += count;
    paths[key].weight.count += count;
  }
  for (const auto& entry : heaviest(sums.reasons, Order::count, top)) {
    SummaryLine& line = summary.sample_reasons.emplace_back(entry->second.line());
    line.work = entry->first == 0 ? kUnknown : rows.tables.text(p::StringId{entry->first});
  }
  for (const auto& entry : heaviest(sums.places, Order::count, top)) {
    summary.sample_places.push_back(place_line(rows.tables, p::GpuPlaceId{entry->first}, entry->second.weight.count));
  }
}

}  // namespace

Summary summarize(const Aggregate& rows, size_t top, const StackOptions& stacks) {
  Summary summary;
  summary.texts = std::make_shared<PathTexts>(rows.tables, stacks);
  summary.info = rows.info;
  summary.total = rows.total;
  summary.timed =
      rows.info.kind == ProfileKind::durations || (rows.info.kind == ProfileKind::mixed && rows.total.ns > 0);

  WorkSums work;
  PathSums paths;
  for (const Row& row : rows.rows) {
    const PathKey key = summary.texts->key(rows.work(row));
    work[key.work].add(row);
    paths[key].add(row);
    if (row.kind == RowKind::gpu && (rows.work(row).flags & p::kWorkGraphNode) != 0) {
      summary.graphs.weight += row.weight;
      summary.graphs.captured += index(rows.work(row).capture) != 0 ? row.weight.count : 0;
    }
  }
  WorkSums sampled_work;
  PathSums sampled_paths;
  summarize_samples(rows, top, sampled_work, sampled_paths, summary);
  if (rows.info.kind == ProfileKind::stall_samples) {
    summary.total.count = rows.sample_count;
    work = std::move(sampled_work);
    paths = std::move(sampled_paths);
  } else {
    summary.sampled_work = work_lines(sampled_work, Order::count, top);
  }
  const Order order = summary.timed ? Order::ns : Order::count;
  summary.work = work_lines(work, order, top);
  summary.call_paths = path_lines(summary.texts, paths, order, top);
  summary.devices = device_lines(rows);
  summarize_host(rows, top, summary);
  summary.trimmed = summary.texts->view().trimmed();
  return summary;
}

}  // namespace gpuprof::analyze
