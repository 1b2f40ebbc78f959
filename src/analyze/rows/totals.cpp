#include "analyze/rows/totals.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/merge/recordings.h"
#include "analyze/rows/measure.h"
#include "analyze/subsets/subset_meta.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

ProfileKind kind_of(bool timed, bool launches, bool samples) {
  if (timed) {
    return launches ? ProfileKind::mixed : ProfileKind::durations;
  }
  if (launches) {
    return ProfileKind::launch_counts;
  }
  return samples ? ProfileKind::stall_samples : ProfileKind::empty;
}

std::string device_name(const p::Tables& tables, p::DeviceId id) {
  const p::Device* const device = tables.device(id);
  return device == nullptr ? std::string("an unknown device") : "device " + std::to_string(device->index);
}

p::WorkCoverage covered_samples(const Aggregate& rows, const Outside& outside) {
  p::WorkCoverage samples = outside.samples;
  samples.recorded = rows.sample_count;  // all samples, including those outside of the window
  samples.lost = p::lost_samples(rows.info.losses);
  for (const SampleRow& row : rows.samples) {
    samples.with_stack += has_stack(rows.work(row)) ? row.count : 0;
  }
  return samples;
}

// Scales rows so that those of a process add up. Rows of the same name and the same stack are neighbours in the order
// of rounding, so that the sums of kernels and of call paths are rounded numbers, too.
template <typename Factor>
void scale(LargeVector<Row>& rows, const Aggregate& in, Factor factor_of) {
  using Key = std::tuple<uint32_t, double, uint32_t, p::Op, uint32_t, uint32_t, size_t>;
  std::vector<Key> order;
  order.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const p::Work& work = in.work(rows[i]);
    order.emplace_back(index(work.process), factor_of(work), index(work.name), work.op, index(work.ustack),
                       index(work.kstack), i);
  }
  std::sort(order.begin(), order.end());
  std::map<std::pair<uint32_t, double>, ScaledParts> parts;
  for (const auto& [process, factor, name, op, ustack, kstack, i] : order) {
    rows[i].weight = parts[{process, factor}].next(rows[i].weight, factor);
  }
}

}  // namespace

std::optional<uint64_t> ProfileInfo::start_ns() const {
  const auto start = meta.find("start_ns");
  return start == meta.end() ? std::nullopt : whole_number(start->second);
}

uint64_t ProfileInfo::sum_of_meta(std::string_view key) const {
  const auto [begin, end] = meta.equal_range(std::string(key));
  return std::accumulate(begin, end, uint64_t{0}, [](uint64_t sum, const auto& line) {
    return saturating_add(sum, whole_number(line.second).value_or(0));
  });
}

void ProfileInfo::count_skipped(const p::Reader& reader) {
  skipped_bad = saturating_add(reader.skipped_bad(), sum_of_meta(kSkippedBadKey));
  skipped_unknown = saturating_add(reader.skipped_unknown(), sum_of_meta(kSkippedUnknownKey));
}

void ProfileInfo::add(const p::Window& window) {
  ++windows;
  weighted_windows = weighted_windows || window.weight > 1;
}

void ProfileInfo::add_process_of(const p::Coverage& line) {
  const bool represented = line.what == p::word(p::CoverageCount::represented);
  if (line.count > 0 && (represented || line.what == p::word(p::CoverageCount::matched))) {
    processes.insert(line.process);
  }
  if (line.count > 0 && represented) {
    estimated_processes.insert(line.process);
  }
}

std::string ProfileInfo::estimate_text() const {
  if (!is_estimate()) {
    return "";
  }
  if (only_in_windows) {
    return is_partly_estimate()
               ? "launches of " + std::to_string(estimated_processes.size()) + " of " +
                     std::to_string(processes.size()) +
                     " processes are only those in windows of the time (--max-overhead)"
               : "launches are only those in " + counted_text(windows, "window") + " of the time (--max-overhead)";
  }
  const std::string last = margin.empty() ? ", error unknown" : ", GPU time +-" + margin;
  if (is_partly_estimate()) {  // the exact numbers have windows, too
    return "numbers of " + std::to_string(estimated_processes.size()) + " of " + std::to_string(processes.size()) +
           " processes are estimates from windows of the time (--max-overhead)" + last;
  }
  return "numbers are estimates from " + counted_text(windows, "window") + " of the time (--max-overhead)" + last;
}

uint64_t ProfileInfo::lost_gpu_work() const {
  return p::lost_gpu_work(losses, counted(p::CoverageCount::without_record));
}

bool ProfileInfo::lacks_gpu_work() const {
  using enum p::CoverageCount;
  return lost_gpu_work() > 0 || counted(between_windows) > 0 || counted(outside_range) > 0 ||
         meta.contains("attach.pid") || meta.contains("sweep.late_ns") ||
         std::any_of(meta.begin(), meta.end(), [](const auto& line) { return line.first.ends_with(kLacksWork); });
}

uint64_t ProfileInfo::counted(p::CoverageCount what) const {
  const auto found = coverage.find(std::string(word(what)));
  return found == coverage.end() ? 0 : found->second;
}

uint64_t ProfileInfo::represented_records(p::CoverageCount what) const {
  const auto found = represented_counts.find(what);
  return found == represented_counts.end() ? counted(what) : found->second;
}

uint64_t ProfileInfo::dropped_samples() const {
  return p::lost_samples(losses);
}

bool ProfileInfo::samples_are_reliable() const {
  // Minimum number of kept samples per dropped sample: at most 1% may be dropped.
  constexpr p::Uint128 kLeastTaken = 99;
  return samples > 0 && dropped_samples() * kLeastTaken <= samples;
}

bool add_latency(const p::Latency& r, LatencyRow& row) {
  uint64_t count = row.count;
  uint64_t sum_ns = row.sum_ns;
  if (!add_to(count, r.count) || !add_to(sum_ns, r.sum_ns)) {
    return false;
  }
  if (r.count > 0) {
    row.min_ns = row.count == 0 ? r.min_ns : std::min(row.min_ns, r.min_ns);
    row.max_ns = std::max(row.max_ns, r.max_ns);
  }
  row.count = count;
  row.sum_ns = sum_ns;
  for (const p::Latency::Bucket& bucket : r.buckets) {  // cannot overflow: a row's buckets add up to its count
    count_of_bucket(row.buckets, bucket.bucket) += bucket.count;
  }
  return true;
}

void count_rows(Aggregate& rows, const Outside& outside) {
  ProfileInfo& info = rows.info;
  bool timed = outside.timed;
  bool launches = outside.launches.recorded > 0;
  info.gpu_records = outside.gpu.recorded;
  info.with_stack = outside.gpu.with_stack;
  info.unsampled = outside.unsampled;
  info.launches = outside.launches.recorded;
  info.estimated = outside.estimated;
  for (const Row& row : rows.rows) {
    const uint64_t count = row.weight.count;
    switch (row.kind) {
      case RowKind::gpu: {
        const p::Work& work = rows.work(row);
        info.gpu_records += count;
        info.with_stack += has_stack(work) ? count : 0;
        info.unsampled += p::is_unsampled(work) ? count : 0;
        timed = true;
        if (rows.has_shares) {
          DeviceTime& time = rows.device_times[work.device];
          time.busy_ns += row.busy_ns;
          time.exclusive_ns += row.exclusive_ns;
        }
        break;
      }
      case RowKind::launch:
        info.launches += count;
        launches = true;
        break;
      case RowKind::host:
        break;
    }
  }
  info.samples = rows.sample_count;
  for (const SampleRow& row : rows.samples) {
    info.estimated += (row.key.flags & p::kSampleEstimated) != 0 ? row.count : 0;
  }
  info.untimed = timed ? info.launches : 0;
  info.kind = kind_of(timed, launches, !rows.samples.empty() || outside.samples.recorded > 0);
}

profile::WorkCoverage covered_work(const Aggregate& rows, const Outside& outside) {
  const ProfileInfo& info = rows.info;
  const uint64_t lost = info.lost_gpu_work();
  if (info.gpu_records > 0 || lost > 0) {
    return {info.gpu_records, std::min(info.with_stack, info.gpu_records), lost};
  }
  p::WorkCoverage launches = outside.launches;
  for (const Row& row : rows.rows) {
    if (row.kind == RowKind::launch) {
      launches.recorded += row.weight.count;
      launches.with_stack += has_stack(rows.work(row)) ? row.weight.count : 0;
    }
  }
  return launches.any() ? launches : covered_samples(rows, outside);
}

bool is_merged(const p::Tables& tables) {
  const auto processes = tables.processes();
  return std::any_of(processes.begin(), processes.end(), [](const p::Process& r) { return index(r.host) != 0; });
}

uint64_t covered_ns(std::vector<p::Window> windows) {
  std::sort(windows.begin(), windows.end(),
            [](const p::Window& a, const p::Window& b) { return a.start_ns < b.start_ns; });
  uint64_t sum = 0;
  uint64_t end = 0;
  for (const p::Window& window : windows) {
    const uint64_t start = std::max(window.start_ns, end);
    end = std::max(end, window.end_ns);
    sum += end - std::min(start, end);
  }
  return sum;
}

namespace {

uint64_t selected_ns(const Aggregate& rows, const std::vector<p::Window>& windows) {
  const auto window = time_in_slices(rows.info.meta, rows.selected_window());
  if (!window || !rows.info.complete) {
    return 0;
  }
  if (!rows.window && subset_of(rows.info.meta) != Subset::slice) {
    return covered_ns(windows);
  }
  const auto start_ns = rows.info.start_ns();
  return start_ns ? covered_ns(windows_in(windows, *window, *start_ns)) : 0;
}

}  // namespace

uint64_t recorded_ns(const Aggregate& rows) {
  return selected_ns(rows, rows.windows);
}

ObservedTime observed_time(const Aggregate& rows, p::DeviceId device) {
  std::vector<p::Window> windows;
  uint64_t sum = 0;
  for (const auto& [id, recording] : rows.recordings) {
    if (recording.devices.contains(device)) {
      windows.insert(windows.end(), recording.windows.begin(), recording.windows.end());
      sum = saturating_add(sum, selected_ns(rows, recording.windows));
    }
  }
  return {selected_ns(rows, windows), sum};
}

bool has_several_recordings(const Aggregate& rows) {
  return is_merged(rows.tables) && named_recordings(rows.info.meta) != 1;
}

uint64_t doubled_ns(const Aggregate& rows, uint64_t recorded, uint64_t device_ns) {
  if (recorded == 0 || !has_several_recordings(rows)) {
    return 0;
  }
  // At both ends of selected slices, moved slices may have work from outside.
  const bool has_ends = rows.window || has_all_work(subset_of(rows.info.meta));
  const uint64_t moved = has_ends ? saturating_add(slice_shift_ns(rows.info.meta), slice_shift_ns(rows.info.meta)) : 0;
  const uint64_t most = saturating_add(recorded, moved);
  return device_ns - std::min(device_ns, most);
}

void add_overlap_warnings(Aggregate& rows) {
  const uint64_t recorded = recorded_ns(rows);
  for (const auto& [device, time] : rows.device_times) {
    if (const uint64_t doubled = doubled_ns(rows, recorded, time.busy_ns + time.idle_ns); doubled > 0) {
      rows.info.warnings.push_back("recordings of " + device_name(rows.tables, device) +
                                   " overlap: its busy and idle times add up to " + duration_text(doubled) +
                                   " more than was recorded");
    }
  }
}

void leave_out(Aggregate& rows, const Outside& outside) {
  rows.total.ns -= outside.sums.weight.ns;
  rows.total.count -= outside.sums.weight.count;
  rows.total.bytes -= outside.sums.weight.bytes;
  rows.host_total.ns -= outside.host_total.ns;
  rows.host_total.count -= outside.host_total.count;
  rows.host_total.bytes -= outside.host_total.bytes;
  rows.sample_count -= outside.samples.recorded;
  rows.busy_ns -= outside.sums.busy_ns;
  rows.exclusive_ns -= outside.sums.exclusive_ns;
  rows.idle_ns -= outside.idle_ns;
}

std::string end_mismatch(const char* what, uint64_t end, uint64_t sum) {
  return end == sum ? std::string()
                    : "the END record counts " + std::to_string(end) + " " + what +
                          ", the records before it sum up to " + std::to_string(sum);
}

void check_conservation(Aggregate& rows) {
  ProfileInfo& info = rows.info;
  // Do not check subsets: a subset may lack earlier work or idle time, so its times need not add up.
  const bool is_part = !part_text(info.meta).empty();
  if (!info.complete || !rows.has_shares || info.skipped_bad > 0 || rows.window || is_part) {
    return;
  }
  std::set<p::DeviceId> with_work;
  for (const Row& row : rows.rows) {
    if (row.kind == RowKind::gpu && (row.weight.count > 0 || row.busy_ns > 0)) {
      with_work.insert(rows.work(row).device);
    }
  }
  for (const p::DeviceId device : with_work) {
    const DeviceTime& time = rows.device_times[device];
    const std::string name = device_name(rows.tables, device);
    if (time.busy_ns != time.exclusive_ns) {
      info.warnings.push_back("the SHARE records of " + name + " hold " + std::to_string(time.busy_ns) +
                              " ns of busy time, but " + std::to_string(time.exclusive_ns) + " ns of exclusive time");
    }
    // In a merged profile, each device was observed only in the windows of its recordings.
    if (time.busy_ns + time.idle_ns != rows.window_ns && !is_merged(rows.tables)) {
      info.warnings.push_back(name + " was busy for " + std::to_string(time.busy_ns) + " ns and idle for " +
                              std::to_string(time.idle_ns) + " ns, but the recorded windows last " +
                              std::to_string(rows.window_ns) + " ns");
    }
  }
}

void add_records(const p::Work& work, uint64_t count, RecordsByProcess& records) {
  GpuRecords& process = records[work.process];
  process.recorded = saturating_add(process.recorded, count);
  process.with_stack = saturating_add(process.with_stack, has_stack(work) ? count : 0);
  process.unsampled = saturating_add(process.unsampled, p::is_unsampled(work) ? count : 0);
}

Weight ScaledParts::next(const Weight& part, double factor) {
  Weight scaled;
  for (uint64_t Weight::*const number : Weight::kNumbers) {
    sum_.*number += part.*number;
    const uint64_t end = p::scaled(sum_.*number, factor);
    scaled.*number = end - std::exchange(given_.*number, end);
  }
  return scaled;
}

void LaunchScale::add(const p::Coverage& line) {
  using Pair = std::pair<p::CoverageCount, double Counts::*>;
  using enum p::CoverageCount;
  for (const auto& [what, number] :
       {Pair(matched, &Counts::matched), Pair(represented, &Counts::represented), Pair(weighted, &Counts::weighted),
        Pair(p::CoverageCount::extrapolated, &Counts::extrapolated), Pair(without_record, &Counts::without_record),
        Pair(without_stack, &Counts::without_stack), Pair(without_launch, &Counts::without_launch),
        Pair(before_attach, &Counts::before_attach)}) {
    if (line.what == p::word(what)) {
      processes_[line.process].*number += static_cast<double>(line.count);
    }
  }
}

void LaunchScale::add(const p::Loss& line) {
  if (p::is_lost_work(line.reason)) {
    processes_[line.process].lost += static_cast<double>(line.count);
  }
}

double LaunchScale::of(p::ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? 1 : p::launch_scale(found->second.represented, found->second.weighted);
}

double LaunchScale::extrapolated(p::ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() || found->second.represented == 0
             ? 0
             : std::min(1.0, found->second.extrapolated / found->second.represented);
}

bool LaunchScale::apply(Aggregate& rows) const {
  constexpr double kMost = 9e18;  // fits 64 bits
  double most = 1;
  for (const auto& entry : processes_) {
    most = std::max(most, of(entry.first));
  }
  const Weight& total = rows.total;
  const Weight& host = rows.host_total;
  if (static_cast<double>(std::max({total.ns, total.count, total.bytes, host.ns, host.count, host.bytes})) >
      kMost / most) {
    return false;
  }
  scale(rows.rows, rows, [this](const p::Work& work) { return of(work.process); });
  rows.total = {};
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const Row& row = rows.rows[i];
    const double factor = of(rows.work(row).process);
    rows.total += row.weight;
    if (i < rows.squares.size()) {
      rows.squares[i] *= factor;
    }
    if (i < rows.durations.size()) {
      for (p::Duration::Bucket& bucket : rows.durations[i]) {
        bucket.count = p::scaled(bucket.count, factor);
      }
    }
    if (i < rows.queue_ns.size()) {
      rows.queue_ns[i] = p::scaled(rows.queue_ns[i], factor);
    }
  }
  scale(rows.host, rows, [this](const p::Work& work) { return grows_with_launches(work.op) ? of(work.process) : 1; });
  rows.host_total = {};
  for (const Row& row : rows.host) {
    rows.host_total += row.weight;
  }
  rows.slices.scale([this](p::ProcessId process) { return of(process); });
  rows.queue_total_ns = 0;
  for (const uint64_t queue_ns : rows.queue_ns) {
    rows.queue_total_ns = saturating_add(rows.queue_total_ns, queue_ns);
  }
  return true;
}

uint64_t LaunchScale::sum_of(double Counts::*number) const {
  double sum = 0;
  for (const auto& [process, counts] : processes_) {
    sum += counts.*number * of(process);
  }
  return p::scaled(1, sum);
}

void LaunchScale::apply(const RecordsByProcess& records, ProfileInfo& info) const {
  for (const auto& [sum, number] : {std::pair(&info.gpu_records, &GpuRecords::recorded),
                                    {&info.with_stack, &GpuRecords::with_stack},
                                    {&info.unsampled, &GpuRecords::unsampled}}) {
    uint64_t counted = 0;
    uint64_t scaled = 0;
    for (const auto& [process, its] : records) {
      counted = saturating_add(counted, its.*number);
      scaled = saturating_add(scaled, p::scaled(its.*number, of(process)));
    }
    // The counts of END may differ from the sums of the lines.
    *sum = counted == *sum
               ? scaled
               : p::scaled(*sum, p::launch_scale(static_cast<double>(scaled), static_cast<double>(counted)));
  }
  using enum p::CoverageCount;
  info.represented_counts = {{without_stack, sum_of(&Counts::without_stack)},
                             {without_launch, sum_of(&Counts::without_launch)},
                             {before_attach, sum_of(&Counts::before_attach)}};
  p::RepresentedLoss loss;
  for (const auto& [process, counts] : processes_) {
    loss.add(counts, index(process) != 0);
  }
  const uint64_t lost = loss.lost_gpu_work();
  if (info.gpu_records > 0 || lost > 0) {
    info.covered = {info.gpu_records, std::min(info.with_stack, info.gpu_records), lost};
  }
}

void LaunchScale::put_failures(const std::map<uint32_t, uint64_t>& counts, const p::Tables& tables, bool is_scaled,
                               ProfileInfo& info) const {
  for (const auto& [position, count] : counts) {
    const p::Work& work = tables.works()[position];
    uint64_t& sum = info.failures[std::string(tables.text(work.name))];
    sum = saturating_add(sum, is_scaled ? p::scaled(count, of(work.process)) : count);
  }
}

}  // namespace gpuprof::analyze
