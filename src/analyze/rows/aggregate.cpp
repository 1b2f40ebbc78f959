#include "analyze/rows/aggregate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "analyze/merge/recordings.h"
#include "analyze/rows/totals.h"
#include "analyze/stalls/sample_map.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

using Reason = std::optional<std::string>;

constexpr const char* kAfterEnd = "there are records after END";
constexpr const char* kTooLarge = "the sum of the values in all records up to this one exceeds 64 bits";

bool fit_together(uint64_t busy_ns, uint64_t idle_ns) {
  return add_to(busy_ns, idle_ns);
}

// Adds the sums and extremes of a GPU or HOST record to a row. The caller has checked that they fit.
template <typename Sums>
void add_sums(Row& row, const Sums& r) {
  if (r.count > 0) {
    row.min_ns = row.weight.count == 0 ? r.min_ns : std::min(row.min_ns, r.min_ns);
    row.max_ns = std::max(row.max_ns, r.max_ns);
  }
  row.weight.ns += r.sum_ns;
  row.weight.count += r.count;
  row.weight.bytes += r.bytes;
}

SampleKey row_key_of(const p::EuStall& r) {
  return {.work = r.work, .place = r.place, .reason = r.reason, .sampling = r.sampling, .flags = r.flags};
}

Error no_interval(uint64_t line) {
  return {"cannot select a time window: before line " + std::to_string(line) +
              ", the profile does not define the length of its time slices (META interval_ns)",
          "leave out --from and --to; profiles made by `gpuprof record` contain META interval_ns"};
}

bool has_slices(const p::Reader::Batch& batch) {
  return batch.record == nullptr || std::holds_alternative<p::Gpu>(*batch.record) ||
         std::holds_alternative<p::EuStall>(*batch.record) || std::holds_alternative<p::Share>(*batch.record) ||
         std::holds_alternative<p::Duration>(*batch.record) || std::holds_alternative<p::Launch>(*batch.record) ||
         std::holds_alternative<p::Host>(*batch.record) || std::holds_alternative<p::Idle>(*batch.record);
}

class Aggregator {
 public:
  Aggregator(p::Reader& reader, const AggregateOptions& options)
      : reader_(reader), options_(options), map_(result_.samples) {}

  // Adds a batch. Fails for an invalid record unless the reader is lenient. A rejected record changes nothing.
  Status take(const p::Reader::Batch& batch) {
    if (options_.window && !result_.window && has_slices(batch)) {
      return no_interval(reader_.line());
    }
    if (batch.record != nullptr) {
      return take(*batch.record);
    }
    if (!batch.samples.empty()) {
      uint64_t line = reader_.line() - batch.samples.size();
      for (const p::EuStall& sample : batch.samples) {
        if (Status taken = ended_ ? refuse(++line, kAfterEnd) : wait(sample, ++line); !taken) {
          return taken;
        }
      }
      return {};
    }
    if (Status flushed = flush_queue(); !flushed) {
      return flushed;
    }
    return batch.gpu.empty() ? take_rows(batch.shares) : take_rows(batch.gpu);
  }

  // Adds the queued samples to their rows. Must run before any later record is handled.
  Status flush_queue() {
    while (dequeued_ != queued_) {
      if (Status added = add_oldest(); !added) {
        return added;
      }
    }
    return {};
  }

  // Call it after the last flush_queue().
  Aggregate finish() {
    ProfileInfo& info = result_.info;
    info.cut_short = reader_.cut_short();
    info.complete = !info.cut_short && (ended_ || reader_.is_published_form());
    info.count_skipped(reader_);
    result_.window_ns = covered_ns(result_.windows);
    count_rows(result_, outside_);
    if (ended_) {
      check_end();
    }
    const Weight& events = result_.timeline.total();
    result_.has_timeline =
        events.count > 0 && events.count == info.gpu_records && events.ns == result_.total.ns && !is_limited_;
    info.covered = covered_work(result_, outside_);
    leave_out(result_, outside_);
    check_conservation(result_);
    launch_scale_.put_failures(failures_, result_.tables, info.is_estimate() && estimate(), info);
    return std::move(result_);
  }

 private:
  struct QueuedSample {
    SampleKey key;
    uint64_t slice = 0;
    uint64_t count = 0;
    uint64_t hash = 0;
    uint64_t line = 0;
  };

  // Returns false if the sums are too large to be scaled.
  bool estimate() {
    finish_estimates();
    RecordsByProcess records = std::move(outside_.by_process);
    for (const Row& row : result_.rows) {
      if (row.kind == RowKind::gpu) {
        add_records(result_.work(row), row.weight.count, records);
      }
    }
    const bool is_scaled = launch_scale_.apply(result_);
    if (is_scaled) {
      launch_scale_.apply(records, result_.info);
    }
    put_margin();
    return is_scaled;
  }

  void finish_estimates() {
    for (const p::Window& window : result_.windows) {
      if (result_.grid.interval_ns > 0 && window.start_ns >= start_ns_) {
        result_.estimates.add_window(result_.grid.slice_at(window.start_ns - start_ns_), window.weight);
      }
    }
    std::vector<Estimates::Known> known;
    for (const Row& row : result_.rows) {
      known.push_back({result_.work(row).process, row.weight.ns, row.weight.count});
    }
    result_.estimates.finish(known, launch_scale_);
  }

  void put_margin() {
    Uncertainty all;
    for (size_t row = 0; row < result_.rows.size(); ++row) {
      all.add(result_.estimates, row);
    }
    if (const auto margin = all.margin(); margin && margin->is_known && result_.total.ns > 0) {
      result_.info.margin = percent_text(margin->ns, result_.total.ns);
    }
  }

  Status take(const p::Record& record) {
    if (ended_ && !std::holds_alternative<p::Unknown>(record)) {
      return refuse(reader_.line(), kAfterEnd);
    }
    if (const auto* sample = std::get_if<p::EuStall>(&record)) {
      return wait(*sample, reader_.line());
    }
    if (Status flushed = flush_queue(); !flushed) {
      return flushed;
    }
    const Reason reason = take_other(record);
    return reason ? refuse(reader_.line(), *reason) : Status();
  }

  // In a large profile the lookup of a row causes three cache misses. Each loop prefetches one of them for all records.
  template <typename Measured>
  Status take_rows(std::span<const Measured> records) {
    for (const Measured& r : records) {
      result_.tables.prefetch(r.work);
    }
    for (const Measured& r : records) {
      if (const uint32_t position = result_.tables.position(r.work); position < rows_of_.size()) {
        __builtin_prefetch(&rows_of_[position]);
      }
    }
    for (const Measured& r : records) {
      const uint32_t position = result_.tables.position(r.work);
      if (position < rows_of_.size() && rows_of_[position] != kNone) {
        __builtin_prefetch(&result_.rows[rows_of_[position]], 1);
      }
    }
    uint64_t line = reader_.line() - records.size();
    for (const Measured& r : records) {
      ++line;
      const Reason reason = ended_ ? Reason(kAfterEnd) : add(r);
      if (Status refused = reason ? refuse(line, *reason) : Status(); !refused) {
        return refused;
      }
    }
    return {};
  }

  Status refuse(uint64_t line, std::string_view reason) {
    if (!reader_.lenient()) {
      return reader_.error_at(line, reason);
    }
    reader_.count_bad(line);
    return {};
  }

  Status wait(const p::EuStall& record, uint64_t line) {
    QueuedSample& waiting = queue_[queued_++ % kQueue];
    waiting.key = row_key_of(record);
    waiting.slice = record.slice;
    waiting.count = record.count;
    waiting.hash = map_.begin(waiting.key);
    waiting.line = line;
    if (queued_ - dequeued_ <= kQueue / 2) {
      return {};
    }
    const QueuedSample& halfway = queue_[(queued_ - 1 - kQueue / 2) % kQueue];
    if (!map_.approach(halfway.hash)) {
      result_.tables.prefetch(halfway.key.place);
    }
    return queued_ - dequeued_ == kQueue ? add_oldest() : Status();
  }

  Status add_oldest() {
    const QueuedSample& oldest = queue_[dequeued_++ % kQueue];
    const Reason reason = add(oldest);
    return reason ? refuse(oldest.line, *reason) : Status();
  }

  // True if rows must not include the slice. Its records are still checked, and counted for the whole recording.
  [[nodiscard]] bool is_outside(uint64_t slice) const { return result_.window && !result_.window->has(slice); }

  void add_coverage(p::WorkCoverage& coverage, p::WorkId work, uint64_t count) const {
    coverage.recorded += count;
    coverage.with_stack += has_stack(*result_.tables.work(work)) ? count : 0;
  }

  Reason add(const QueuedSample& sample) {
    uint64_t count = result_.sample_count;
    if (!add_to(count, sample.count)) {
      return kTooLarge;
    }
    if (is_outside(sample.slice)) {
      return leave_out_sample(sample, count);
    }
    size_t slot = 0;
    SampleRow* row = map_.find(sample.key, sample.hash, slot);
    if (row == nullptr) {
      // Only the first sample with a key adds a row, so only its ids need a check.
      const SampleKey& key = sample.key;
      Reason reason = map_.full()
                          ? Reason("too many distinct rows")
                          : result_.tables.add(p::EuStall{
                                .work = key.work, .place = key.place, .reason = key.reason, .sampling = key.sampling});
      if (reason) {
        return reason;
      }
      row = &map_.insert(key, sample.hash, slot);
    }
    row->count += sample.count;
    if (options_.stall_slices) {
      const p::StringId kernel = result_.tables.work(sample.key.work)->name;
      result_.stall_slices.add(kernel, sample.key.reason, sample.slice, sample.count);
    }
    if (options_.slices == Measure::gpu || options_.slices == Measure::samples) {
      result_.sample_slices.add({}, sample.slice, {.count = sample.count});
    }
    result_.sample_count = count;
    ++result_.info.records;
    return std::nullopt;
  }

  Reason leave_out_sample(const QueuedSample& sample, uint64_t count) {
    const SampleKey& key = sample.key;
    Reason reason = result_.tables.add(
        p::EuStall{.work = key.work, .place = key.place, .reason = key.reason, .sampling = key.sampling});
    if (!reason) {
      add_coverage(outside_.samples, key.work, sample.count);
      outside_.estimated += (key.flags & p::kSampleEstimated) != 0 ? sample.count : 0;
      result_.sample_count = count;
      ++result_.info.records;
    }
    return reason;
  }

  // Returns the row index for the WORK at `position` of the tables; kNone if the WORK has no row yet.
  uint32_t& row_of(uint32_t position, std::vector<uint32_t>& rows_of) const {
    if (position >= rows_of.size()) {
      rows_of.resize(result_.tables.works().size(), kNone);
    }
    return rows_of[position];
  }

  // Returns the record's row, or outside_.sums if the slice is outside of the window. For an invalid WORK, sets
  // `reason` and returns null.
  template <typename Measured>
  Row* find_row(const Measured& r, RowKind kind, Reason& reason) {
    if (is_outside(r.slice)) {
      reason = result_.tables.add(r);
      return reason ? nullptr : &outside_.sums;
    }
    const uint32_t position = result_.tables.position(r.work);
    if (position < rows_of_.size() && rows_of_[position] != kNone && result_.rows[rows_of_[position]].kind == kind) {
      return &result_.rows[rows_of_[position]];
    }
    reason = result_.tables.add(r);
    if (reason) {
      return nullptr;
    }
    row_of(position, rows_of_) = static_cast<uint32_t>(result_.rows.size());
    return &result_.rows.emplace_back(Row{.kind = kind, .ref = position});
  }

  Reason add(const p::Gpu& r) {
    Weight total = result_.total;
    if (!add_to(total, Weight{.ns = r.sum_ns, .count = r.count, .bytes = r.bytes})) {
      return kTooLarge;
    }
    Reason reason;
    if (Row* const row = find_row(r, RowKind::gpu, reason)) {
      add_sums(*row, r);
      is_outside(r.slice) ? count_outside(r) : add_details(*row, r);
      result_.total = total;
      ++result_.info.records;
    }
    return reason;
  }

  void add_details(const Row& row, const p::Gpu& r) {
    if (is_limited_) {
      result_.estimates.add_work(static_cast<size_t>(&row - result_.rows.data()), r.slice, r.sum_ns, r.count);
    }
    if (measures_gpu()) {
      const uint64_t ns = options_.slices == Measure::gpu ? r.sum_ns : 0;
      result_.slices.add(scaled_process(row), r.slice, {.ns = ns, .count = r.count, .bytes = r.bytes});
    }
    if (options_.squares) {
      add_squares(row, r.sum_squares_ns2);
    }
    if (options_.queue && r.queue_ns > 0) {
      add_queue(row, r.queue_ns);
    }
  }

  // Returns the process for SliceSums: 0 if --max-overhead did not limit the recording.
  [[nodiscard]] p::ProcessId scaled_process(const Row& row) const {
    return is_limited_ ? result_.work(row).process : p::ProcessId{};
  }

  // Clamps on overflow instead of rejecting the record, because no other sum depends on queue times.
  void add_queue(const Row& row, uint64_t queue_ns) {
    const auto position = static_cast<size_t>(&row - result_.rows.data());
    if (position >= result_.queue_ns.size()) {
      result_.queue_ns.resize(position + 1);
    }
    uint64_t& sum = result_.queue_ns[position];
    sum = saturating_add(sum, queue_ns);
    result_.queue_total_ns = saturating_add(result_.queue_total_ns, queue_ns);
  }

  // True if AggregateOptions::slices selects a measure of GPU work. Counts and bytes then come from GPU lines; for
  // Measure::busy and exclusive, times come from SHARE lines.
  [[nodiscard]] bool measures_gpu() const {
    return options_.slices == Measure::gpu || options_.slices == Measure::busy || options_.slices == Measure::exclusive;
  }

  void count_outside(const p::Gpu& r) {
    add_coverage(outside_.gpu, r.work, r.count);
    outside_.timed = true;
    outside_.unsampled += p::is_unsampled(*result_.tables.work(r.work)) ? r.count : 0;
    if (is_limited_) {
      add_records(*result_.tables.work(r.work), r.count, outside_.by_process);
    }
  }

  void add_squares(const Row& row, p::Uint128 squares) {
    const auto position = static_cast<size_t>(&row - result_.rows.data());
    if (position >= result_.squares.size()) {
      result_.squares.resize(position + 1);
    }
    const auto low = static_cast<uint64_t>(squares);
    // Converts from 64 bits if the value fits: a conversion from 128 bits takes as long as everything else for a row.
    result_.squares[position] += low == squares ? static_cast<double>(low) : static_cast<double>(squares);
  }

  Reason add(const p::Launch& r) {
    uint64_t count = result_.total.count;
    if (!add_to(count, r.count)) {
      return kTooLarge;
    }
    Reason reason;
    if (Row* const row = find_row(r, RowKind::launch, reason)) {
      row->weight.count += r.count;
      if (is_outside(r.slice)) {
        add_coverage(outside_.launches, r.work, r.count);
      } else if (measures_gpu()) {
        result_.slices.add(scaled_process(*row), r.slice, {.count = r.count});
      }
      result_.total.count = count;
      ++result_.info.records;
    }
    return reason;
  }

  Reason add(const p::Share& r) {
    uint64_t busy = result_.busy_ns;
    uint64_t exclusive = result_.exclusive_ns;
    if (!add_to(busy, r.busy_ns) || !add_to(exclusive, r.exclusive_ns) || !fit_together(busy, result_.idle_ns)) {
      return "the sum of the values in all SHARE and IDLE records up to this one exceeds 64 bits";
    }
    Reason reason;
    if (Row* const row = find_row(r, RowKind::gpu, reason)) {
      row->busy_ns += r.busy_ns;
      row->exclusive_ns += r.exclusive_ns;
      if (!is_outside(r.slice) && (options_.slices == Measure::busy || options_.slices == Measure::exclusive)) {
        result_.slices.add({}, r.slice, {.ns = options_.slices == Measure::busy ? r.busy_ns : r.exclusive_ns});
      }
      result_.busy_ns = busy;
      result_.exclusive_ns = exclusive;
      result_.has_shares = true;
      if (recording_ != nullptr) {
        recording_->devices.insert(result_.tables.work(r.work)->device);
      }
    }
    return reason;
  }

  // Handles a record of any kind but EUSTALL. The tables check its ids.
  Reason take_other(const p::Record& record) {
    if (const auto* gpu = std::get_if<p::Gpu>(&record)) {
      return add(*gpu);
    }
    if (const auto* share = std::get_if<p::Share>(&record)) {
      return add(*share);
    }
    if (const auto* launch = std::get_if<p::Launch>(&record)) {
      return add(*launch);
    }
    Reason reason = result_.tables.add(record);
    return reason ? reason : std::visit([this](const auto& r) { return this->keep(r); }, record);
  }

  Reason keep(const p::Host& r) {
    const Weight weight{.ns = r.sum_ns, .count = r.count, .bytes = r.bytes};
    if (!add_to(result_.host_total, weight)) {
      return "the sum of the values in all HOST records up to this one exceeds 64 bits";
    }
    const p::Work& work = *result_.tables.work(r.work);
    if (work.op == p::Op::failed) {
      failures_[result_.tables.position(r.work)] += r.count;
    }
    if (is_outside(r.slice)) {
      outside_.host_total += weight;
      return std::nullopt;
    }
    if (options_.slices && host_op(*options_.slices) == work.op) {
      const bool is_scaled = is_limited_ && grows_with_launches(work.op);  // LaunchScale::apply() does the same
      result_.slices.add(is_scaled ? work.process : p::ProcessId{}, r.slice, weight);
    }
    if (options_.host) {
      const uint32_t position = result_.tables.position(r.work);
      uint32_t& row = row_of(position, hosts_of_);
      if (row == kNone) {
        row = static_cast<uint32_t>(result_.host.size());
        result_.host.push_back(Row{.kind = RowKind::host, .ref = position});
      }
      add_sums(result_.host[row], r);
    }
    return std::nullopt;
  }

  Reason keep(const p::Idle& r) {
    uint64_t idle = result_.idle_ns;
    if (!add_to(idle, r.ns) || !fit_together(result_.busy_ns, idle)) {
      return "the sum of the values in all SHARE and IDLE records up to this one exceeds 64 bits";
    }
    if (recording_ != nullptr) {
      recording_->devices.insert(r.device);
    }
    if (r.ns == 0) {
      return std::nullopt;
    }
    result_.idle_ns = idle;
    count_explained(r);
    if (is_outside(r.slice)) {
      outside_.idle_ns += r.ns;
      return std::nullopt;
    }
    result_.device_times[r.device].idle_ns += r.ns;
    if (options_.slices == Measure::idle) {
      result_.slices.add({}, r.slice, {.ns = r.ns});
    }
    if (options_.idle) {
      const auto [known, added] = idle_rows_.try_emplace({r.device, r.work}, result_.idle.size());
      if (added) {
        result_.idle.push_back({.device = r.device, .work = r.work});
      }
      result_.idle[known->second].ns += r.ns;
    }
    return std::nullopt;
  }

  void count_explained(const p::Idle& r) {
    const p::Work* const work = result_.tables.work(r.work);
    if (work != nullptr && p::is_thread_time(work->op)) {
      const bool is_explained = work->op == p::Op::cpu || index(work->name) != 0;
      (is_explained ? result_.info.idle_explained_ns : result_.info.idle_not_sampled_ns) += r.ns;
    }
  }

  // No other sum depends on durations. So counts are clamped instead of rejected, and counts of other works are
  // ignored.
  Reason keep(const p::Duration& r) {
    const uint32_t position = result_.tables.position(r.work);
    const bool is_host = p::work_kind(result_.tables.work(r.work)->op) == p::WorkKind::host;
    const std::vector<uint32_t>& rows = is_host ? hosts_of_ : rows_of_;
    if (!options_.durations || is_outside(r.slice) || position >= rows.size() || rows[position] == kNone) {
      return std::nullopt;
    }
    auto& durations = is_host ? result_.host_durations : result_.durations;
    if (rows[position] >= durations.size()) {
      durations.resize(rows[position] + 1);
    }
    for (const p::Duration::Bucket& bucket : r.buckets) {
      uint64_t& count = p::count_of_bucket(durations[rows[position]], bucket.bucket);
      count = saturating_add(count, bucket.count);
    }
    return std::nullopt;
  }

  Reason keep(const p::Weighted& r) {
    result_.estimates.add(r);
    return std::nullopt;
  }

  Reason keep(const p::Window& r) {
    result_.info.add(r);
    result_.windows.push_back(r);
    if (recording_ != nullptr) {
      recording_->windows.push_back(r);
    }
    return std::nullopt;
  }

  // Checks each histogram for overflow on its own, because no other sum includes it.
  Reason keep(const p::Latency& r) {
    if (!options_.latency) {
      return std::nullopt;
    }
    const auto known = latency_rows_.find({r.work, r.phase});
    LatencyRow row = known == latency_rows_.end() ? LatencyRow{.work = r.work, .phase = r.phase}
                                                  : std::move(result_.latencies[known->second]);
    const bool fits = add_latency(r, row);
    if (known != latency_rows_.end()) {
      result_.latencies[known->second] = std::move(row);
    } else if (fits) {
      latency_rows_.emplace(std::pair(r.work, r.phase), result_.latencies.size());
      result_.latencies.push_back(std::move(row));
    }
    return fits ? Reason() : Reason("the sum of the LATENCY records of this work exceeds 64 bits");
  }

  Reason keep(const p::Blocks& r) {
    if (!options_.blocks || is_outside(r.slice)) {
      return std::nullopt;
    }
    if (!all_blocks_.add(r)) {
      return "the sum of all BLOCKS records exceeds 64 bits";
    }
    const auto [known, added] = blocks_rows_.try_emplace(r.work, result_.blocks.size());
    if (added) {
      result_.blocks.push_back({.work = r.work, .totals = {}});
    }
    (void)result_.blocks[known->second].totals.add(r);  // fits, because the sum of all records does
    return std::nullopt;
  }

  Reason keep(const p::Meta& r) {
    if (r.key == kRecordingRowsKey) {
      recording_ = r.value.empty() ? nullptr : &result_.recordings[std::string(r.value)];
      return std::nullopt;
    }
    result_.info.meta.emplace(r.key, r.value);
    is_limited_ = is_limited_ || r.key == "budget.max_overhead_percent";
    if (r.key == "start_ns" && start_ns_ == 0) {
      start_ns_ = whole_number(r.value).value_or(0);
    }
    if (grid_.take(r.key, r.value)) {
      take_grid(grid_.grid());
    }
    return std::nullopt;
  }

  void take_grid(const p::SliceGrid& grid) {
    result_.grid = grid;
    if (options_.window) {
      result_.window = slices_of(*options_.window, grid);
      result_.slices = SliceSums(result_.window->first);
      result_.sample_slices = SliceSums(result_.window->first);
      result_.timeline.set_window(*result_.selected_window());
    }
    result_.slices.set_grid(grid);
    result_.sample_slices.set_grid(grid);
  }

  Reason keep(const p::Loss& r) {
    if (!add_to(lost_, r.count)) {
      return "the sum of all LOSS counts exceeds 64 bits";
    }
    result_.info.losses[std::string(r.reason)] += r.count;
    launch_scale_.add(r);
    return std::nullopt;
  }

  Reason keep(const p::Coverage& r) {
    uint64_t sum = r.count;
    const auto known = result_.info.coverage.find(std::string(r.what));
    if (known != result_.info.coverage.end() && !add_to(sum, known->second)) {
      return "the sum of the COVERAGE lines with this word exceeds 64 bits";
    }
    result_.info.coverage[std::string(r.what)] = sum;
    result_.info.add_process_of(r);
    launch_scale_.add(r);
    return std::nullopt;
  }

  Reason keep(const p::End& r) {
    ended_ = true;
    end_ = r;
    return std::nullopt;
  }

  Reason keep(const p::Event& r) {
    const p::Work* const work = result_.tables.work(r.work);
    if (options_.slices == Measure::gpu && work != nullptr && p::work_kind(work->op) == p::WorkKind::gpu) {
      result_.timeline.add(r.start_ns - std::min(r.start_ns, start_ns_), r.end_ns - std::min(r.end_ns, start_ns_),
                           r.bytes);
    }
    return keep_event();
  }
  Reason keep(const p::Call& /*unused*/) { return keep_event(); }
  Reason keep(const p::Span& /*unused*/) { return keep_event(); }
  Reason keep_event() {
    ++result_.info.events;
    return std::nullopt;
  }

  template <typename Definition>
  Reason keep(const Definition& /*unused*/) {
    return std::nullopt;
  }

  void check_end() {
    ProfileInfo& info = result_.info;
    compare("GPU records", end_.gpu_records, info.gpu_records);
    compare("ns of GPU time", end_.gpu_ns, result_.total.ns);
    compare("samples", end_.samples, info.samples);
    compare("lost records", end_.lost, lost_);
    info.launches = end_.launches;
    info.with_stack = std::min(end_.with_stack, info.gpu_records);
  }

  void compare(const char* what, uint64_t end, uint64_t sum) {
    if (std::string text = end_mismatch(what, end, sum); !text.empty()) {
      result_.info.warnings.push_back(std::move(text));
    }
  }

  static constexpr uint32_t kNone = p::IdIndex::kNone;
  // Number of queued samples: enough to hide the memory latency, few enough for the L1 cache.
  static constexpr size_t kQueue = 16;

  p::Reader& reader_;
  AggregateOptions options_;
  Aggregate result_;
  std::vector<uint32_t> rows_of_;          // indexed by position of the WORK: index of its row
  std::vector<uint32_t> hosts_of_;         // indexed by position of the WORK: index into Aggregate::host
  std::map<uint32_t, uint64_t> failures_;  // key: position of the WORK; the number of calls that failed
  std::map<std::pair<p::DeviceId, p::WorkId>, size_t> idle_rows_;
  std::map<std::pair<p::WorkId, p::Phase>, size_t> latency_rows_;
  std::map<p::WorkId, size_t> blocks_rows_;
  p::BlockTotals all_blocks_;
  SampleMap map_;
  std::array<QueuedSample, kQueue> queue_;
  size_t queued_ = 0;  // number of samples ever put into the queue
  size_t dequeued_ = 0;
  Outside outside_;
  LaunchScale launch_scale_;
  p::SliceGridReader grid_;
  MergedWindows* recording_ = nullptr;  // META recording.rows
  uint64_t start_ns_ = 0;               // META start_ns
  bool is_limited_ = false;             // by --max-overhead
  uint64_t lost_ = 0;
  bool ended_ = false;
  p::End end_;
};

}  // namespace

Result<Aggregate> aggregate(profile::Reader& reader, const AggregateOptions& options) {
  Aggregator aggregator(reader, options);
  for (;;) {
    auto next = reader.next_batch();
    const bool at_end = next && next->at_end();
    // Queued samples come from earlier lines, so report their error first.
    Status taken = next && !at_end ? aggregator.take(*next) : aggregator.flush_queue();
    if (!taken) {
      return std::move(taken).error();
    }
    if (!next) {
      return std::move(next).error();
    }
    if (at_end) {
      return aggregator.finish();
    }
  }
}

}  // namespace gpuprof::analyze
