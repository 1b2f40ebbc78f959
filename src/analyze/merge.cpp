#include "analyze/merge.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyze/merge_clock.h"
#include "analyze/merge_ids.h"
#include "analyze/parts/part_meta.h"
#include "base/numbers.h"
#include "profile/tables.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

using merge_detail::Clock;
using merge_detail::common_clock;
using merge_detail::Header;
using merge_detail::is_one_of;
using merge_detail::kClockKeys;
using merge_detail::kSummedKeys;
using merge_detail::look_at;
using merge_detail::open_again;
using merge_detail::read_header;
using merge_detail::Shift;
using merge_detail::shift_of;

using Reason = std::optional<std::string>;

constexpr const char* kAfterEnd = "there are records after END";

class Merger {
 public:
  Merger(const Clock& clock, const RecordSink& sink) : clock_(clock), sink_(sink) {}

  Status begin() {
    const std::pair<const char*, std::optional<uint64_t>> facts[] = {
        {"start_ns", clock_.start_ns}, {"start_unix_ns", clock_.start_unix_ns}, {"interval_ns", clock_.interval_ns}};
    for (const auto& [key, value] : facts) {
      if (value) {
        const std::string text = std::to_string(*value);
        if (Status put = sink_(p::Meta{key, text}); !put) {
          return put;
        }
      }
    }
    return {};
  }

  Status take(const std::string& name, p::Reader& reader, const Header& header) {
    const std::string_view host = header.text("host").empty() ? "unknown" : header.text("host");
    const auto [host_id, host_is_new] = ids_.begin_input(host);
    if (host_is_new) {
      if (Status put = sink_(p::String{host_id, host}); !put) {
        return put;
      }
    }
    parts_.begin_input(header.text(kPartOf));
    shift_ = shift_of(header, clock_);
    tables_ = {};
    gpu_works_.clear();
    ended_ = false;
    has_end_ = !reader.is_published_form();
    if (clock_.start_unix_ns && !header.value("start_unix_ns")) {
      result_.warnings.push_back(name + " does not say when it was recorded: it is taken to begin with the others");
    }
    for (const auto& [key, value] : header.meta) {
      if (Status put = take_meta({key, value}); !put) {
        return put;
      }
    }
    if (Status read = take_records(reader, header); !read) {
      return read;
    }
    look_at_the_end(name, reader);
    return {};
  }

  Result<MergeResult> finish() {
    for (const auto& [key, sum] : sums_) {
      const std::string text = std::to_string(sum);
      if (Status put = sink_(p::Meta{key, text}); !put) {
        return put.error();
      }
    }
    for (const auto& [key, value] : parts_.rest()) {
      if (Status put = sink_(p::Meta{key, value}); !put) {
        return put.error();
      }
    }
    if (result_.complete) {
      if (Status put = sink_(end_); !put) {
        return put.error();
      }
    }
    return std::move(result_);
  }

 private:
  Status take_records(p::Reader& reader, const Header& header) {
    if (!header.next) {
      return {};
    }
    p::Record first = *header.next;
    Status taken = take_one(reader, first);
    while (taken) {
      auto batch = reader.next_batch();
      if (!batch) {
        return std::move(batch).error();
      }
      if (batch->at_end()) {
        return {};
      }
      taken = batch->record != nullptr ? take_one(reader, *batch->record) : take_rows(reader, *batch);
    }
    return taken;
  }

  Status take_one(p::Reader& reader, p::Record& record) {
    return settle(reader, reader.line(),
                  ended_ && !std::holds_alternative<p::Unknown>(record) ? Reason(kAfterEnd) : take_record(record));
  }

  Status take_rows(p::Reader& reader, const p::Reader::Batch& batch) {
    if (!batch.samples.empty()) {
      return take_rows(reader, batch.samples);
    }
    return batch.gpu.empty() ? take_rows(reader, batch.shares) : take_rows(reader, batch.gpu);
  }

  template <typename Row>
  Status take_rows(p::Reader& reader, std::span<const Row> rows) {
    for (const Row& row : rows) {
      tables_.prefetch(row.work);
    }
    for (const Row& row : rows) {
      if (const uint32_t position = tables_.position(row.work); position < gpu_works_.size()) {
        __builtin_prefetch(&gpu_works_[position]);
      }
    }
    uint64_t line = reader.line() - rows.size();
    for (const Row& row : rows) {
      row_ = row;
      if (Status settled = settle(reader, ++line, ended_ ? Reason(kAfterEnd) : take_row(*std::get_if<Row>(&row_)));
          !settled) {
        return settled;
      }
    }
    return {};
  }

  // Of what became of the record in that line.
  Status settle(p::Reader& reader, uint64_t line, const Reason& reason) {
    if (sink_failed_) {
      return *sink_failed_;
    }
    if (reason && !reader.lenient()) {
      return reader.error_at(line, *reason);
    }
    if (reason) {
      reader.count_bad(line);
    }
    return {};
  }

  // `row` is that in row_. What take_record() does, where what there is to know about its work is known already.
  template <typename Row>
  Reason take_row(Row& row) {
    const uint32_t position = tables_.position(row.work);
    const bool known = position < gpu_works_.size() && index(gpu_works_[position]) != 0;
    if constexpr (!std::is_same_v<Row, p::EuStall>) {
      if (known) {
        row.work = gpu_works_[position];
        Reason reason = shift_slice(row.slice);
        if (!reason) {
          put(row_);
        }
        return reason;
      }
    }
    Reason reason = take_record(row_);
    if (!reason && !known) {
      gpu_works_.resize(tables_.works().size());
      gpu_works_[position] = row.work;
    }
    return reason;
  }

  void look_at_the_end(const std::string& name, const p::Reader& reader) {
    if (reader.cut_short() || (!ended_ && has_end_)) {
      result_.warnings.push_back(name + " is cut short: the merged profile has no END record");
      result_.complete = false;
    }
    if (reader.skipped_unknown() > 0) {
      result_.warnings.push_back(name + ": " + std::to_string(reader.skipped_unknown()) +
                                 " records of kinds that this version does not know are left out");
    }
    if (reader.skipped_bad() > 0) {
      result_.warnings.push_back(name + ": " + std::to_string(reader.skipped_bad()) + " bad lines are left out");
    }
  }

  Reason take_record(p::Record& record) {
    if (const auto* meta = std::get_if<p::Meta>(&record)) {
      if (Status put = take_meta(*meta); !put) {
        sink_failed_ = put.error();
      }
      return std::nullopt;
    }
    if (const auto* end = std::get_if<p::End>(&record)) {
      return take_end(*end);
    }
    if (Reason reason = tables_.add(record)) {  // whatever makes an input no profile must not get into the result
      return reason;
    }
    bool is_new = true;
    if (Reason reason = shift(record)) {  // first: a process is known by its start
      return reason;
    }
    if (Reason reason = ids_.map(record, is_new)) {
      return reason;
    }
    if (Reason reason = count_samples(record)) {
      return reason;
    }
    if (const auto* const window = std::get_if<p::Window>(&record)) {
      is_new = parts_.is_new(*window);
    }
    if (is_new && !std::holds_alternative<p::Unknown>(record)) {
      put(record);
    }
    return std::nullopt;
  }

  void put(const p::Record& record) {
    if (Status put = sink_(record); !put) {
      sink_failed_ = put.error();
    }
  }

  Status take_meta(const p::Meta& meta) {
    if (is_one_of(kClockKeys, meta.key)) {
      return {};
    }
    if (is_one_of(kSummedKeys, meta.key)) {
      uint64_t& sum = sums_[std::string(meta.key)];
      const uint64_t value = whole_number(meta.value).value_or(0);
      sum = value > std::numeric_limits<uint64_t>::max() - sum ? std::numeric_limits<uint64_t>::max() : sum + value;
      return {};
    }
    if (parts_.take(meta.key, meta.value)) {
      return {};
    }
    return meta_.emplace(meta.key, meta.value).second ? sink_(meta) : Status();
  }

  // Of an input that has no END to tell how many there were.
  Reason count_samples(const p::Record& record) {
    const auto* const sample = std::get_if<p::EuStall>(&record);
    if (sample == nullptr || has_end_) {
      return std::nullopt;
    }
    uint64_t sum = 0;
    if (__builtin_add_overflow(end_.samples, sample->count, &sum)) {
      return "the sum of all EUSTALL counts exceeds 64 bits";
    }
    end_.samples = sum;
    return std::nullopt;
  }

  Reason take_end(const p::End& end) {
    ended_ = true;
    end_.end_ns = std::max(end_.end_ns, shift_.time(end.end_ns));
    const std::pair<uint64_t*, uint64_t> sums[] = {{&end_.launches, end.launches}, {&end_.gpu_records, end.gpu_records},
                                                   {&end_.gpu_ns, end.gpu_ns},     {&end_.with_stack, end.with_stack},
                                                   {&end_.samples, end.samples},   {&end_.lost, end.lost}};
    for (const auto& [sum, value] : sums) {
      if (__builtin_add_overflow(*sum, value, sum)) {
        return "the sum of all END records exceeds 64 bits";
      }
    }
    return std::nullopt;
  }

  Reason shift(p::Record& record) const {
    uint64_t* slice = nullptr;
    if (auto* gpu = std::get_if<p::Gpu>(&record)) {
      slice = &gpu->slice;
    } else if (auto* host = std::get_if<p::Host>(&record)) {
      slice = &host->slice;
    } else if (auto* launch = std::get_if<p::Launch>(&record)) {
      slice = &launch->slice;
    } else if (auto* share = std::get_if<p::Share>(&record)) {
      slice = &share->slice;
    } else if (auto* idle = std::get_if<p::Idle>(&record)) {
      slice = &idle->slice;
    } else if (auto* sample = std::get_if<p::EuStall>(&record)) {
      slice = &sample->slice;
    }
    if (slice != nullptr) {
      return shift_slice(*slice);
    }
    shift_times(record);
    return std::nullopt;
  }

  Reason shift_slice(uint64_t& slice) const {
    return __builtin_add_overflow(slice, shift_.slices, &slice) ? Reason("the slice's number exceeds 64 bits")
                                                                : Reason();
  }

  void shift_times(p::Record& record) const {
    const auto both = [this](auto& r) {
      r.start_ns = shift_.time(r.start_ns);
      r.end_ns = shift_.time(r.end_ns);
    };
    if (auto* event = std::get_if<p::Event>(&record)) {
      both(*event);
      event->queued_ns = shift_.time_or_unknown(event->queued_ns);
      event->submitted_ns = shift_.time_or_unknown(event->submitted_ns);
    } else if (auto* call = std::get_if<p::Call>(&record)) {
      both(*call);
    } else if (auto* span = std::get_if<p::Span>(&record)) {
      both(*span);
    } else if (auto* window = std::get_if<p::Window>(&record)) {
      both(*window);
    } else if (auto* process = std::get_if<p::Process>(&record)) {
      process->start_ns = shift_.time_or_unknown(process->start_ns);
    }
  }

  Clock clock_;
  const RecordSink& sink_;
  MergeIds ids_;
  p::Tables tables_;                  // of this input
  std::vector<p::WorkId> gpu_works_;  // the result's, by their position in `tables_`; 0: no row of it was taken so far
  p::Record row_;
  Shift shift_;
  bool ended_ = false;   // this input
  bool has_end_ = true;  // where it is whole
  std::set<std::pair<std::string, std::string>> meta_;
  std::map<std::string, uint64_t> sums_;
  PartsSeen parts_;
  p::End end_;
  std::optional<Error> sink_failed_;
  MergeResult result_{.warnings = {}, .complete = true};
};

}  // namespace

Result<MergeResult> merge(std::vector<MergeInput> inputs, const RecordSink& sink) {
  std::vector<Header> headers;
  for (MergeInput& input : inputs) {
    auto header = input.reader ? read_header(*input.reader) : look_at(input);
    if (!header) {
      return std::move(header).error();
    }
    headers.push_back(std::move(header).value());
  }
  const auto clock = common_clock(inputs, headers);
  if (!clock) {
    return clock.error();
  }
  Merger merger(*clock, sink);
  if (Status begun = merger.begin(); !begun) {
    return begun.error();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    MergeInput& input = inputs[i];
    if (!input.reader) {
      auto again = open_again(input, headers[i]);
      if (!again) {
        return std::move(again).error();
      }
    }
    if (Status taken = merger.take(input.name, *input.reader, headers[i]); !taken) {
      return taken.error();
    }
    input.reader.reset();
    headers[i] = {};
  }
  return merger.finish();
}

}  // namespace gpuprof::analyze
