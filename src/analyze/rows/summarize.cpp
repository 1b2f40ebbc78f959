#include "analyze/rows/summarize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/merge/recordings.h"
#include "analyze/names/labels.h"
#include "analyze/names/zebin_kernels.h"
#include "analyze/paths/call_path.h"
#include "analyze/rows/row_filter.h"
#include "analyze/rows/shared_devices.h"
#include "analyze/rows/totals.h"
#include "analyze/subsets/subset_meta.h"
#include "profile/keywords.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

struct Sum {
  Weight weight;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  uint64_t busy_ns = 0;
  double squares = 0;
  uint64_t untimed = 0;
  Durations durations;
  Uncertainty uncertainty;

  void add(const Row& row, double row_squares) {
    weight += row.weight;
    busy_ns += row.busy_ns;
    squares += row_squares;
    untimed += row.kind == RowKind::launch ? row.weight.count : 0;
    if ((row.kind == RowKind::gpu || row.kind == RowKind::host) && row.weight.count > 0) {
      min_ns = std::min(min_ns, row.min_ns);
      max_ns = std::max(max_ns, row.max_ns);
    }
  }
  [[nodiscard]] uint64_t min() const { return min_ns == UINT64_MAX ? 0 : min_ns; }
  [[nodiscard]] uint64_t timed() const { return weight.count - untimed; }
  // The time and the count of an estimate are rounded, so their ratio may be below the minimum or above the maximum.
  [[nodiscard]] uint64_t average() const {
    return timed() == 0 ? 0 : std::min(std::max(weight.ns / timed(), min()), max_ns);
  }

  // Returns nullopt if the squares were not recorded. Then the sum of squares is too small for the mean.
  [[nodiscard]] std::optional<uint64_t> deviation() const {
    if (timed() == 0 || weight.ns == 0) {
      return std::nullopt;
    }
    constexpr double kRounding = 1e-9;
    const auto count = static_cast<double>(timed());
    const double mean = static_cast<double>(weight.ns) / count;
    const double mean_square = squares / count;
    if (mean_square < mean * mean * (1 - kRounding)) {
      return std::nullopt;
    }
    const double deviation = std::sqrt(std::max(0.0, mean_square - mean * mean));
    // Rounding alone causes deviations up to this size.
    return deviation < mean * 1e-6 ? 0 : static_cast<uint64_t>(std::min(std::round(deviation), 1e19));
  }
  [[nodiscard]] Percentiles percentiles() const { return durations.percentiles(timed(), min(), max_ns); }
  [[nodiscard]] SummaryLine line() const {
    SummaryLine line;
    line.weight = weight;
    line.min_ns = min();
    line.max_ns = max_ns;
    line.average_ns = average();
    line.untimed = untimed;
    line.deviation_ns = deviation();
    line.percentiles = percentiles();
    line.durations = durations;
    line.margin = uncertainty.margin();
    return line;
  }
};

// Sort criterion. measure() returns a line's value for this criterion, and a tie-breaker.
enum class Order : uint8_t { ns, count, bytes, average, max };

std::pair<uint64_t, uint64_t> measure(const Sum& sum, Order order) {
  const Weight& weight = sum.weight;
  switch (order) {
    case Order::ns:
      return {weight.ns, weight.count};
    case Order::count:
      return {weight.count, weight.ns};
    case Order::bytes:
      return {weight.bytes, weight.count};
    case Order::average:
      return {sum.average(), weight.ns};
    case Order::max:
      return {sum.max_ns, weight.ns};
  }
  return {};
}

Order order_of(SortBy sort, bool timed) {
  if (!timed) {
    return Order::count;
  }
  switch (sort) {
    case SortBy::time:
      return Order::ns;
    case SortBy::calls:
      return Order::count;
    case SortBy::average:
      return Order::average;
    case SortBy::max:
      return Order::max;
  }
  return Order::ns;
}

// Sorts heaviest first, and equal entries by name, so that a report does not depend on the order of the records.
template <typename Sums>
std::vector<typename Sums::const_iterator> heaviest(const Sums& sums, Order order, size_t top) {
  std::vector<typename Sums::const_iterator> entries;
  for (auto it = sums.cbegin(); it != sums.cend(); ++it) {
    entries.push_back(it);
  }
  const size_t kept = top == 0 ? entries.size() : std::min(top, entries.size());
  std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(kept), entries.end(),
                    [order](const auto& a, const auto& b) {
                      const auto x = measure(a->second, order);
                      const auto y = measure(b->second, order);
                      return x != y ? x > y : a->first < b->first;
                    });
  entries.resize(kept);
  return entries;
}

struct TextLess {
  // Compares addresses first: equal texts usually have one address, and comparing long texts is slow.
  bool operator()(std::string_view a, std::string_view b) const {
    return (a.data() != b.data() || a.size() != b.size()) && a < b;
  }
};
using WorkSums = std::map<std::string_view, Sum, TextLess>;
using PathSums = std::map<PathKey, Sum>;
using GroupSums = std::map<std::string, Sum>;

std::vector<SummaryLine> work_lines(const WorkSums& sums, Order order, size_t top, size_t& found) {
  std::vector<SummaryLine> lines;
  for (const auto& entry : heaviest(sums, order, top)) {
    SummaryLine& line = lines.emplace_back(entry->second.line());
    line.work = entry->first;
  }
  found = sums.size();
  return lines;
}

std::vector<SummaryLine> path_lines(const std::shared_ptr<WorkPaths>& texts, const PathSums& sums, Order order,
                                    size_t top, size_t& found) {
  std::vector<SummaryLine> lines;
  for (const auto& entry : heaviest(sums, order, top)) {
    SummaryLine& line = lines.emplace_back(entry->second.line());
    line.process = entry->first.process;
    line.work = entry->first.work;
    line.path = CallPath(entry->first, texts);
  }
  found = sums.size();
  return lines;
}

std::vector<GroupLine> group_lines(const GroupSums& sums, Order order, size_t top, size_t& found) {
  std::vector<GroupLine> lines;
  for (const auto& entry : heaviest(sums, order, top)) {
    const Sum& sum = entry->second;
    lines.push_back({.name = entry->first,
                     .weight = sum.weight,
                     .min_ns = sum.min(),
                     .max_ns = sum.max_ns,
                     .average_ns = sum.average(),
                     .untimed = sum.untimed,
                     .busy_ns = sum.busy_ns,
                     .deviation_ns = sum.deviation(),
                     .percentiles = sum.percentiles(),
                     .margin = sum.uncertainty.margin()});
  }
  found = sums.size();
  return lines;
}

// Limits the device's time to the recorded time. In older recordings, time counts in the slice in which it ends, and a
// subset lacks the time of other work. So the sum of busy and idle time may differ from the recorded time.
void limit_to_recorded(const Aggregate& rows, p::DeviceId device, uint64_t recorded, uint64_t exclusive_ns,
                       DeviceLine& line) {
  const auto& meta = rows.info.meta;
  const bool several = has_several_recordings(rows);
  const bool is_other = subset_of(meta) == Subset::other;
  const Subset subset = rows.window && !is_other ? Subset::window : subset_of(meta);
  // The recordings of a merged profile may have observed a device for a part of the time only.
  const ObservedTime observed = is_other && several ? observed_time(rows, device) : ObservedTime{recorded, recorded};
  recorded = observed.ns;
  if (recorded == 0 && (subset == Subset::slice || is_other)) {
    line.wall_ns = line.idle_ns = 0;
  }
  if (recorded == 0 || (line.wall_ns == recorded && observed.sum_ns == recorded)) {
    return;
  }
  line.overlap = observed.sum_ns > recorded || doubled_ns(rows, recorded, line.wall_ns) > 0;
  line.partial = line.wall_ns < observed.sum_ns && is_other;
  if (line.partial) {
    // SHARE gives shared time to the work that started first, which may not be in the subset.
    line.busy_ns = line.overlap ? line.weight.ns : std::max(line.busy_ns, exclusive_ns);
  }
  if (line.wall_ns > recorded || line.partial || (has_all_work(subset) && !several)) {
    line.wall_ns = recorded;
    line.busy_ns = line.overlap ? line.busy_ns : std::min(line.busy_ns, recorded);
    line.idle_ns = line.partial ? 0 : recorded - std::min(recorded, line.busy_ns);
  }
}

std::vector<DeviceLine> device_lines(const Aggregate& rows) {
  std::vector<DeviceLine> lines;
  const uint64_t recorded = recorded_ns(rows);
  const bool lacks_work = rows.info.lacks_gpu_work();
  struct Use {
    Weight weight;
    uint64_t busy_ns = 0;
    uint64_t exclusive_ns = 0;
    uint64_t idle_ns = 0;
    bool estimated = false;  // has work of an estimated process
  };
  std::unordered_map<uint32_t, Use> uses;
  for (const Row& row : rows.rows) {
    if (row.kind == RowKind::gpu) {
      Use& use = uses[index(rows.work(row).device)];
      use.weight += row.weight;
      use.busy_ns += row.busy_ns;
      use.exclusive_ns += row.exclusive_ns;
      use.estimated = use.estimated || rows.info.estimated_processes.contains(rows.work(row).process);
    }
  }
  for (const IdleRow& row : rows.idle) {
    uses[index(row.device)].idle_ns += row.ns;
  }
  for (const p::Device& device : rows.tables.devices()) {
    const auto use = uses.find(index(device.id));
    if (use == uses.end()) {
      continue;
    }
    const auto& [weight, busy_ns, exclusive_ns, idle_ns, estimated] = use->second;
    DeviceLine line{device_label(rows.tables, device.id), weight, busy_ns, idle_ns, busy_ns + idle_ns};
    line.lacks_work = lacks_work;
    // The recorder does not measure busy and idle time in windows. Those of a complete recording of the same device, in
    // a merged profile, would leave out the work in the windows.
    // One that was cut short lacks its busy and idle time.
    const bool is_unknown = is_merged(rows.tables) && !rows.info.complete;
    if (is_unknown || (rows.info.is_estimate() && (estimated || line.wall_ns == 0))) {
      line.busy_ns = line.idle_ns = line.wall_ns = 0;
    } else {
      limit_to_recorded(rows, device.id, recorded, exclusive_ns, line);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

bool has_ranks(const p::Tables& tables) {
  std::set<uint32_t> ranks;
  for (const p::Process& process : tables.processes()) {
    if (index(process.rank) != 0) {
      ranks.insert(index(process.rank));
    }
  }
  return ranks.size() > 1;
}

std::vector<FunctionLine> function_lines(std::vector<FunctionLine> lines, bool timed, const SummaryOptions& options,
                                         size_t& found) {
  std::erase_if(lines,
                [](const FunctionLine& line) { return line.origin > Origin::library && line.direct.count == 0; });
  if (options.chains) {
    join_chains(lines);
  }
  // Sort vendor functions and unnamed functions by the work that they launched directly, other functions by their
  // total.
  const auto key = [timed](const FunctionLine& line) {
    const Weight& total = line.origin > Origin::library ? line.direct : line.total;
    return std::pair(timed ? total.ns : total.count, timed ? line.direct.ns : line.direct.count);
  };
  found = lines.size();
  const size_t top = options.limits.functions;
  const size_t kept = top == 0 ? lines.size() : std::min(top, lines.size());
  std::partial_sort(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(kept), lines.end(),
                    [&key](const FunctionLine& a, const FunctionLine& b) {
                      const auto x = key(a);
                      const auto y = key(b);
                      return x != y ? x > y : std::tie(a.origin, a.name, a.file) < std::tie(b.origin, b.name, b.file);
                    });
  lines.resize(kept);
  return lines;
}

PlaceLine place_line(const p::Tables& tables, p::GpuPlaceId id, uint64_t samples) {
  PlaceLine line{.samples = samples};
  const p::GpuPlace* const place = tables.gpu_place(id);
  if (place == nullptr) {
    return line;
  }
  line.function = tables.text(place->function);
  line.offset = place->offset;
  line.instruction = tables.text(tables.instruction(id).text);
  if (const auto frames = tables.place_frames(id); !frames.empty()) {
    const p::Frame& innermost = tables.frame(frames.back());
    line.source_function = tables.text(innermost.name);
    line.file = tables.text(innermost.file);
    line.line = innermost.line;
  }
  return line;
}

// Counts samples by code location. A profile may have hundreds of thousands of code locations.
class PlaceCounts {
 public:
  explicit PlaceCounts(const p::Tables& tables) : tables_(tables), counts_(tables.gpu_places().size() + 1) {}

  void add(p::GpuPlaceId id, uint64_t count) {
    const size_t position = index(id) == 0 ? counts_.size() - 1 : tables_.position(id);
    counts_[position].samples += count;
    counts_[position].is_there = true;
  }

  // Returns the code locations with the most samples, ties by id. `found` becomes the number of all code locations.
  [[nodiscard]] std::vector<PlaceLine> heaviest(size_t top, size_t& found) const {
    // Pairs (~samples, id); ~ makes an ascending sort put the most samples first.
    std::vector<std::pair<uint64_t, uint32_t>> list;
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i].is_there) {
        list.emplace_back(~counts_[i].samples, i + 1 == counts_.size() ? 0 : index(tables_.gpu_places()[i].id));
      }
    }
    found = list.size();
    const size_t kept = top == 0 ? list.size() : std::min(top, list.size());
    std::partial_sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(kept), list.end());
    list.resize(kept);
    std::vector<PlaceLine> lines;
    lines.reserve(kept);
    for (const auto& [fewer, id] : list) {
      lines.push_back(place_line(tables_, p::GpuPlaceId{id}, ~fewer));
    }
    return lines;
  }

 private:
  struct Count {
    uint64_t samples = 0;
    bool is_there = false;
  };
  const p::Tables& tables_;
  // Indexed by position of the code location; the last element counts samples without a code location.
  std::vector<Count> counts_;
};

class Summarizer {
 public:
  Summarizer(const Aggregate& rows, const SummaryOptions& options)
      : rows_(rows),
        options_(options),
        texts_(std::make_shared<WorkPaths>(rows.tables, options.stacks)),
        filter_(options.kernel, options.path, *texts_) {}

  Summary run() {
    summary_.texts = texts_;
    summary_.info = rows_.info;
    summary_.all = rows_.total;
    count_recorded();
    summary_.has_percentiles = !rows_.durations.empty();
    summary_.filtered = !filter_.takes_all();
    summary_.timed =
        rows_.info.kind == ProfileKind::durations || (rows_.info.kind == ProfileKind::mixed && rows_.total.ns > 0);
    sum_work();
    sum_samples();
    sum_blocks();
    put_work();
    if (!options_.path) {
      summary_.counted =
          counted_tables(rows_.tables, options_.kernel ? &*options_.kernel : nullptr, options_.limits.others);
    }
    sum_host();
    sum_idle();
    summary_.devices = device_lines(rows_);
    summary_.trimmed = texts_->view().trimmed();
    return std::move(summary_);
  }

 private:
  void count_recorded() {
    const ProfileInfo& info = rows_.info;
    for (const Row& row : rows_.rows) {
      summary_.untimed += row.kind == RowKind::launch ? row.weight.count : 0;
    }
    summary_.window = rows_.selected_window();
    summary_.grid = rows_.grid;
    if (!rows_.window) {
      std::tie(summary_.gpu_records, summary_.with_stack_records) = std::tie(info.gpu_records, info.with_stack);
      std::tie(summary_.recorded_samples, summary_.estimated) = std::tie(info.samples, info.estimated);
      return;
    }
    for (const Row& row : rows_.rows) {
      if (row.kind == RowKind::gpu) {
        summary_.gpu_records += row.weight.count;
        summary_.with_stack_records += has_stack(rows_.work(row)) ? row.weight.count : 0;
      }
    }
    for (const SampleRow& row : rows_.samples) {
      summary_.estimated += (row.key.flags & p::kSampleEstimated) != 0 ? row.count : 0;
    }
    summary_.recorded_samples = rows_.sample_count;
  }

  void sum_work() {
    const bool ranked = has_ranks(rows_.tables);
    const std::string_view host = host_of(rows_.info);
    for (const Row& row : rows_.rows) {
      const p::Work& work = rows_.work(row);
      if (!filter_.takes(work)) {
        continue;
      }
      const size_t position = static_cast<size_t>(&row - rows_.rows.data());
      const double squares = position < rows_.squares.size() ? rows_.squares[position] : 0;
      const auto add_to = [&](Sum& sum) {
        sum.add(row, squares);
        if (position < rows_.durations.size()) {
          sum.durations.add(rows_.durations[position]);
        }
        sum.uncertainty.add(rows_.estimates, position);
      };
      const PathKey key = path_key(work, *texts_);
      add_to(total_);
      add_to(work_[key.work]);
      add_to(paths_[key]);
      launches_.add(work, row.weight).uncertainty.add(rows_.estimates, position);
      if (ranked) {
        add_to(ranks_[dimension_label(rows_.tables, Dimension::rank, work, work.device, host)]);
      }
      if (options_.by) {
        add_to(groups_[dimension_label(rows_.tables, *options_.by, work, work.device, host)]);
      }
      if (row.kind == RowKind::gpu && (work.flags & p::kWorkGraphNode) != 0) {
        summary_.graphs.weight += row.weight;
        summary_.graphs.captured += index(work.capture) != 0 ? row.weight.count : 0;
      }
    }
    summary_.total = total_.weight;
    summary_.margin = total_.uncertainty.margin();
  }

  void sum_samples() {
    std::unordered_map<uint32_t, uint64_t> works;
    std::map<uint32_t, Sum> reasons;
    PlaceCounts places(rows_.tables);
    StallTable stalls(rows_);
    const bool tells = rows_.info.samples_are_reliable();
    for (const SampleRow& row : rows_.samples) {
      const p::Work& work = rows_.work(row);
      if (filter_.takes(work)) {
        if (tells) {
          const std::string_view kernel = zebin_kernel(rows_.tables, row.key.place);
          stalls.add(row, kernel.empty() ? texts_->work_label(work) : kernel);
        }
        works[index(row.key.work)] += row.count;
        reasons[index(row.key.reason)].weight.count += row.count;
        places.add(row.key.place, row.count);
        summary_.samples += row.count;
      }
    }
    for (const auto& [id, count] : works) {
      add_sampled(*rows_.tables.work(p::WorkId{id}), count);
    }
    for (const auto& entry : heaviest(reasons, Order::count, options_.limits.others)) {
      SummaryLine& line = summary_.sample_reasons.emplace_back(entry->second.line());
      line.work = entry->first == 0 ? kUnknown : rows_.tables.text(p::StringId{entry->first});
    }
    summary_.sample_places = places.heaviest(options_.limits.others, summary_.found.sample_places);
    summary_.found.sample_reasons = reasons.size();
    put_stalls(stalls);
  }

  void sum_blocks() {
    std::map<std::string_view, p::BlockTotals> kernels;
    for (const BlocksRow& row : rows_.blocks) {
      const p::Work& work = *rows_.tables.work(row.work);
      if (filter_.takes(work)) {
        p::Blocks sums = row.totals.sums;
        sums.buckets = row.totals.buckets;
        (void)kernels[texts_->work_label(work)].add(sums);  // fits, because the sum of all rows does
      }
    }
    for (const auto& [kernel, totals] : kernels) {
      Durations durations;
      durations.add(totals.buckets);
      const p::Blocks& sums = totals.sums;
      summary_.blocks.push_back({kernel, sums, durations.percentiles(sums.blocks, 0, sums.slowest_ns)});
    }
    const auto ns_of = [this](const BlockLine& line) {
      const auto sum = work_.find(line.kernel);
      return sum == work_.end() ? 0 : sum->second.weight.ns;
    };
    std::stable_sort(summary_.blocks.begin(), summary_.blocks.end(),
                     [&](const BlockLine& a, const BlockLine& b) { return ns_of(a) > ns_of(b); });
    summary_.found.blocks = summary_.blocks.size();
    if (options_.limits.others != 0 && summary_.blocks.size() > options_.limits.others) {
      summary_.blocks.resize(options_.limits.others);
    }
  }

  void put_stalls(const StallTable& stalls) {
    const size_t top = options_.limits.others;
    summary_.stalls = stalls.heaviest({.kernels = top, .reasons = top, .lines = top}, [this](std::string_view kernel) {
      const auto sum = work_.find(kernel);
      return sum == work_.end() ? 0 : sum->second.weight.ns;
    });
    summary_.found.stalls = stalls.size();
    summary_.stalls_without_lines = stalls.without_lines();
    summary_.stalls_without_in_zebins = stalls.without_in_zebins();
  }

  // Adds samples to `sampled_work` or, in a profile that has only samples, to `work` and `call_paths`.
  void add_sampled(const p::Work& work, uint64_t count) {
    const Weight weight{.count = count};
    if (rows_.info.kind != ProfileKind::stall_samples) {
      sampled_[texts_->work_label(work)].weight += weight;
      return;
    }
    const PathKey key = path_key(work, *texts_);
    work_[key.work].weight += weight;
    paths_[key].weight += weight;
    launches_.add(work, weight);
    summary_.total += weight;
    if (options_.by) {
      groups_[dimension_label(rows_.tables, *options_.by, work, work.device, host_of(rows_.info))].weight += weight;
    }
  }

  void put_work() {
    const Order order = order_of(options_.sort, summary_.timed);
    const SummaryOptions::Limits& limits = options_.limits;
    if (rows_.info.kind == ProfileKind::stall_samples) {
      summary_.all.count = rows_.sample_count;
    }
    summary_.work = work_lines(work_, order, limits.work, summary_.found.work);
    summary_.call_paths = path_lines(texts_, paths_, order, limits.paths, summary_.found.call_paths);
    summary_.sampled_work = work_lines(sampled_, Order::count, limits.work, summary_.found.sampled_work);
    summary_.groups = group_lines(groups_, order, limits.work, summary_.found.groups);
    put_ranks();
    FunctionTable functions = function_table(launches_, texts_->view());
    summary_.with_stack = functions.with_stack;
    summary_.functions = function_lines(std::move(functions.lines), summary_.timed, options_, summary_.found.functions);
  }

  // SHARE gives shared time to the work of the recording that started first. So the busy time of its ranks is arbitrary
  // if they share a device.
  [[nodiscard]] bool ranks_share_devices() const {
    SharedDevices devices;
    for (const Row& row : rows_.rows) {
      const p::Work& work = rows_.work(row);
      const p::Process* const process = rows_.tables.process(work.process);
      if (row.kind == RowKind::gpu && process != nullptr && index(process->rank) != 0) {
        devices.add(work.device, index(process->rank));
      }
    }
    return devices.found();
  }

  // Sorts ranks by time, whatever the sort option, to show the straggler of a job first.
  void put_ranks() {
    const bool shared = rows_.has_shares && !rows_.info.is_estimate() &&
                        (named_recordings(rows_.info.meta) != 1 || !ranks_share_devices());
    for (auto& [rank, sum] : ranks_) {
      sum.busy_ns = shared ? sum.busy_ns : 0;
    }
    summary_.ranks = group_lines(ranks_, Order::ns, 0, summary_.found.ranks);
    std::stable_sort(summary_.ranks.begin(), summary_.ranks.end(), [shared](const GroupLine& a, const GroupLine& b) {
      return shared ? a.busy_ns > b.busy_ns : a.weight.ns > b.weight.ns;
    });
    if (options_.limits.work != 0 && summary_.ranks.size() > options_.limits.work) {
      summary_.ranks.resize(options_.limits.work);
    }
  }

  // Sums idle time by what the launching threads did. Does nothing without CPU samples. Ignores the patterns, as
  // Summary::devices does.
  void sum_idle() {
    std::map<std::string, uint64_t> causes;
    LaunchSums on_cpu;
    uint64_t on_cpu_ns = 0;
    bool is_sampled = false;
    for (const IdleRow& row : rows_.idle) {
      const p::Work* const work = rows_.tables.work(row.work);
      const p::Op op = work == nullptr ? p::Op::other : work->op;
      is_sampled = is_sampled || p::is_thread_time(op);
      if (op == p::Op::cpu) {
        on_cpu.add(*work, {.ns = row.ns});
        on_cpu_ns += row.ns;
      } else {
        causes[work == nullptr ? "nothing launched any more" : idle_cause(*work)] += row.ns;
      }
    }
    if (!is_sampled) {
      return;
    }
    const FunctionTable functions = function_table(on_cpu, texts_->view());
    for (const FunctionLine& line : functions.lines) {
      causes["on CPU" + in_function({line.name, line.file})] += line.direct.ns;
    }
    causes["on CPU, without a stack"] += on_cpu_ns - functions.with_stack.ns;
    for (const auto& [what, ns] : causes) {
      if (ns > 0) {
        summary_.idle_causes.push_back({what, ns});
        summary_.idle_ns += ns;
      }
    }
    std::stable_sort(summary_.idle_causes.begin(), summary_.idle_causes.end(),
                     [](const IdleCause& a, const IdleCause& b) { return a.ns > b.ns; });
  }

  [[nodiscard]] std::string idle_cause(const p::Work& work) const {
    const std::string name(rows_.tables.text(work.name));
    if (work.op == p::Op::off_cpu) {
      return name.empty() ? "not sampled" : name + in_own_function(work.capture);
    }
    return (p::work_kind(work.op) == p::WorkKind::host ? "in " : "before ") + name;
  }

  // Returns " in release_lock (locks.py)" for the program's innermost function on the stack, or "". The capture of a
  // time off a CPU is the stack of the thread that ended it.
  [[nodiscard]] std::string in_own_function(p::StackId stack) const {
    StackView& view = texts_->view();
    const std::span<const uint32_t> frames = view.frames(false, stack);
    const auto own = std::find_if(frames.rbegin(), frames.rend(),
                                  [&view](uint32_t frame) { return view.origin(frame) == Origin::own; });
    return own == frames.rend() ? std::string() : in_function(view.function_text(view.function(*own)));
  }

  static std::string in_function(const StackView::FunctionText& function) {
    const std::string file = function.file.empty() ? "" : " (" + std::string(function.file) + ")";
    return " in " + std::string(function.name) + file;
  }

  void sum_host() {
    WorkSums work;
    WorkSums calls;
    PathSums waits;
    PathSums allocations;
    PathSums failures;
    PathSums without_work;
    for (const Row& row : rows_.host) {
      const p::Work& of = rows_.work(row);
      if (!filter_.takes(of)) {
        continue;
      }
      if (of.op == p::Op::failed || of.op == p::Op::no_work) {
        (of.op == p::Op::failed ? failures : without_work)[path_key(of, *texts_)].add(row, 0);
        continue;
      }
      if (p::is_thread_time(of.op)) {
        continue;
      }
      if (of.op == p::Op::call) {
        add_call(row, of, calls);
        continue;
      }
      work[texts_->work_label(of)].add(row, 0);
      if (of.op == p::Op::sync) {
        waits[path_key(of, *texts_)].add(row, 0);
        summary_.wait_total += row.weight;
      } else if (of.op == p::Op::alloc) {
        allocations[path_key(of, *texts_)].add(row, 0);
        summary_.allocation_total += row.weight;
      }
    }
    const size_t top = options_.limits.others;
    summary_.host_work = work_lines(work, Order::ns, top, summary_.found.host_work);
    summary_.calls = work_lines(calls, Order::ns, top, summary_.found.calls);
    summary_.waits = path_lines(texts_, waits, Order::ns, top, summary_.found.waits);
    summary_.allocations = path_lines(texts_, allocations, Order::bytes, top, summary_.found.allocations);
    summary_.failures = path_lines(texts_, failures, Order::count, top, summary_.found.failures);
    summary_.without_work = path_lines(texts_, without_work, Order::count, top, summary_.found.without_work);
  }

  void add_call(const Row& row, const p::Work& work, WorkSums& calls) {
    const std::string_view function = rows_.tables.text(work.name);
    Sum& sum = calls[function.empty() ? texts_->work_label(work) : function];
    sum.add(row, 0);
    if (const size_t position = static_cast<size_t>(&row - rows_.host.data()); position < rows_.host_durations.size()) {
      sum.durations.add(rows_.host_durations[position]);
    }
    summary_.call_total += row.weight;
  }

  const Aggregate& rows_;
  const SummaryOptions& options_;
  std::shared_ptr<WorkPaths> texts_;
  RowFilter filter_;
  Summary summary_;
  Sum total_;
  WorkSums work_;
  PathSums paths_;
  WorkSums sampled_;
  GroupSums groups_;
  GroupSums ranks_;
  LaunchSums launches_;
};

}  // namespace

Summary summarize(const Aggregate& rows, const SummaryOptions& options) {
  return Summarizer(rows, options).run();
}

}  // namespace gpuprof::analyze
