#include "analyze/stalls/stalls.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyze/names/labels.h"
#include "analyze/names/zebin_kernels.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

template <typename Lines>
void keep_first(Lines& lines, size_t most) {
  if (most != 0 && lines.size() > most) {
    lines.resize(most);
  }
}

}  // namespace

// Returns the kernel's position. Caches the position by work, unless the work may be a batch of several kernels.
size_t StallTable::position_of(const p::Work& work, std::string_view kernel, bool one_of_many) {
  const auto known = one_of_many ? by_work_.end() : by_work_.find(index(work.id));
  if (known != by_work_.end()) {
    return known->second;
  }
  const auto [position, is_first] = positions_.try_emplace(kernel, kernels_.size());
  if (is_first) {
    kernels_.push_back({.name = kernel, .id = work.name});
  }
  if (!one_of_many) {
    by_work_.emplace(index(work.id), position->second);
  }
  return position->second;
}

void StallTable::add(const SampleRow& row, std::string_view kernel) {
  const p::Work& work = rows_.work(row);
  Kernel& to = kernels_[position_of(work, kernel, in_zebin(rows_.tables, row.key.place))];
  to.samples += row.count;
  to.estimated += (row.key.flags & p::kSampleEstimated) != 0 ? row.count : 0;
  to.reasons[index(row.key.reason)] += row.count;
  if (rows_.tables.has_instructions() && index(rows_.tables.instruction(row.key.place).waits_for) != 0) {
    to.waiting[index(row.key.place)] += row.count;
  }
  if (const auto frames = rows_.tables.place_frames(row.key.place); !frames.empty()) {
    to.lines[frames.back().position] += row.count;
  } else if (index(row.key.place) != 0) {
    to.without_lines += row.count;
    without_lines_ += row.count;
    const uint64_t of_intel = in_zebin(rows_.tables, row.key.place) ? row.count : 0;
    to.without_in_zebins += of_intel;
    without_in_zebins_ += of_intel;
  }
}

std::vector<KernelStalls> StallTable::take(std::vector<std::pair<uint64_t, size_t>> order, const Limits& limits) const {
  std::sort(order.begin(), order.end(), [this](const auto& a, const auto& b) {
    const Kernel& x = kernels_[a.second];
    const Kernel& y = kernels_[b.second];
    return std::tuple(b.first, y.samples, x.name) < std::tuple(a.first, x.samples, y.name);
  });
  keep_first(order, limits.kernels);
  std::vector<KernelStalls> stalls;
  for (const auto& [weight, position] : order) {
    const Kernel& kernel = kernels_[position];
    if (kernel.samples == 0) {
      continue;
    }
    KernelStalls& to = stalls.emplace_back();
    to.kernel = kernel.name;
    to.samples = kernel.samples;
    to.estimated = kernel.estimated;
    to.without_lines = kernel.without_lines;
    to.without_in_zebins = kernel.without_in_zebins;
    put_reasons(kernel, limits.reasons, to);
    put_lines(kernel, limits.lines, to);
    put_awaited(kernel, limits.lines, to);
  }
  return stalls;
}

void StallTable::put_reasons(const Kernel& kernel, size_t most, KernelStalls& to) const {
  for (const auto& [id, samples] : kernel.reasons) {
    const p::StringId reason{id};
    const double dispersion = rows_.stall_slices.dispersion(kernel.id, reason);
    to.reasons.push_back({.reason = id == 0 ? kUnknown : rows_.tables.text(reason),
                          .samples = samples,
                          .share = share_interval(samples, kernel.samples, dispersion)});
  }
  std::sort(to.reasons.begin(), to.reasons.end(), [](const StallLine& a, const StallLine& b) {
    return std::tie(b.samples, a.reason) < std::tie(a.samples, b.reason);
  });
  to.found_reasons = to.reasons.size();
  keep_first(to.reasons, most);
}

void StallTable::put_lines(const Kernel& kernel, size_t most, KernelStalls& to) const {
  using Key = std::tuple<std::string_view, uint32_t, std::string_view>;  // elements: file, line, function
  std::map<Key, uint64_t> lines;
  for (const auto& [position, samples] : kernel.lines) {
    const p::Frame& frame = rows_.tables.frame(p::Element(position, false));
    lines[{rows_.tables.text(frame.file), frame.line, rows_.tables.text(frame.name)}] += samples;
  }
  for (const auto& [key, samples] : lines) {
    to.lines.push_back(
        {.function = std::get<2>(key), .file = std::get<0>(key), .line = std::get<1>(key), .samples = samples});
  }
  std::stable_sort(to.lines.begin(), to.lines.end(),
                   [](const HotLine& a, const HotLine& b) { return a.samples > b.samples; });
  to.found_lines = to.lines.size();
  keep_first(to.lines, most);
}

void StallTable::put_awaited(const Kernel& kernel, size_t most, KernelStalls& to) const {
  const p::Tables& tables = rows_.tables;
  using Line = std::pair<std::string_view, uint32_t>;
  const auto line_of = [&tables](p::GpuPlaceId id) {
    const auto frames = tables.place_frames(id);
    return frames.empty() ? Line()
                          : Line(tables.text(tables.frame(frames.back()).file), tables.frame(frames.back()).line);
  };
  std::map<std::tuple<Line, Line, std::string_view>, uint64_t> pairs;
  for (const auto& [id, samples] : kernel.waiting) {
    const p::GpuInstruction known = tables.instruction(p::GpuPlaceId{id});
    const Line from = line_of(p::GpuPlaceId{id});
    const Line awaited = line_of(known.waits_for);
    if (!from.first.empty() && !awaited.first.empty()) {
      pairs[{from, awaited, tables.text(known.what)}] += samples;
    }
  }
  for (const auto& [key, samples] : pairs) {
    const auto& [from, awaited, what] = key;
    to.awaited.push_back({from.first, from.second, what, awaited.first, awaited.second, samples});
  }
  std::stable_sort(to.awaited.begin(), to.awaited.end(),
                   [](const AwaitedLine& a, const AwaitedLine& b) { return a.samples > b.samples; });
  keep_first(to.awaited, most);
}

}  // namespace gpuprof::analyze
