#include "analyze/merge/merge.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyze/merge/merge_clock.h"
#include "analyze/merge/merge_ids.h"
#include "analyze/subsets/subset_meta.h"
#include "base/return_if_error.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"
#include "profile/tables.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

using MergeReason = std::optional<std::string>;

constexpr const char* kMergeAfterEnd = "there are records after END";

// Returns the recording to which all rows of an input belong, or "" if there are several. All files of a rotation are
// one recording.
std::string recording_of_rows(const InputHeader& header) {
  const auto& [whole, parts] = std::tie(header.recordings.whole, header.recordings.parts);
  if (whole.size() + parts.size() != 1) {
    return {};
  }
  const std::string_view rotation = header.text("recording.rotation");
  return rotation.empty() ? *(whole.empty() ? parts : whole).begin()
                          : std::string(rotation.substr(0, rotation.find(' ')));
}

class Merger {
 public:
  Merger(const MergeClock& clock, const RecordSink& sink) : clock_(clock), sink_(sink) {}

  Status begin(const std::vector<InputHeader>& headers, std::vector<std::string> warnings) {
    result_.warnings = std::move(warnings);
    using Grid = p::SliceGridReader;
    const p::SliceGrid& grid = clock_.grid;
    const auto ns_if = [&grid](bool is_known, uint64_t slices) {
      uint64_t ns = 0;
      const bool fits = !__builtin_mul_overflow(slices, grid.interval_ns, &ns);
      return is_known && fits ? std::optional(ns) : std::nullopt;
    };
    const std::pair<std::string_view, std::optional<uint64_t>> facts[] = {
        {"start_ns", clock_.start_ns},
        {"start_unix_ns", clock_.start_unix_ns},
        {Grid::kLongFrom, ns_if(grid.has_long(), grid.first_long)},
        {Grid::kLongInterval, ns_if(grid.has_long(), grid.long_width)},
        {Grid::kInterval, ns_if(grid.interval_ns != 0, 1)}};
    for (const auto& [key, value] : facts) {
      if (value) {
        const std::string text = std::to_string(*value);
        RETURN_IF_ERROR(sink_(p::Meta{key, text}));
      }
    }
    return put_recordings(headers);
  }

  Status take(const std::string& name, p::Reader& reader, const InputHeader& header) {
    const std::string_view host = header.text("host").empty() ? "unknown" : header.text("host");
    const auto [host_id, host_is_new] = ids_.begin_input(host);
    if (host_is_new) {
      RETURN_IF_ERROR(sink_(p::String{host_id, host}));
    }
    parts_.begin_input(header.text(kPartOf));
    shift_ = shift_of(header, clock_);
    tables_ = {};
    gpu_works_.clear();
    ended_ = false;
    had_shift_ns_ = 0;
    new_shift_ns_ = 0;
    has_end_ = !reader.is_published_form();
    if (clock_.start_unix_ns && !header.value("start_unix_ns")) {
      result_.warnings.push_back(
          name +
          " has no recording time (META start_unix_ns): assuming that it starts at the same time as the first input");
    }
    RETURN_IF_ERROR(begin_recording(recording_of_rows(header)));
    for (const auto& [key, value] : header.meta) {
      RETURN_IF_ERROR(take_meta({key, value}));
    }
    RETURN_IF_ERROR(take_records(reader, header));
    check_end(name, reader);
    return {};
  }

  Result<MergeResult> finish() {
    if (slice_shift_ns_ > 0) {
      const std::string text = std::to_string(slice_shift_ns_);
      RETURN_IF_ERROR(sink_(p::Meta{kSliceShiftKey, text}));
    }
    for (const auto& [key, sum] : sums_) {
      const std::string text = std::to_string(sum);
      RETURN_IF_ERROR(sink_(p::Meta{key, text}));
    }
    for (const auto& [key, value] : parts_.rest()) {
      RETURN_IF_ERROR(sink_(p::Meta{key, value}));
    }
    if (result_.complete) {
      RETURN_IF_ERROR(sink_(end_));
    }
    return std::move(result_);
  }

 private:
  // Writes the ids of all recordings at once: a reader needs them before the first record.
  Status put_recordings(const std::vector<InputHeader>& headers) {
    std::set<std::pair<std::string_view, std::string_view>> lines;
    for (const InputHeader& header : headers) {
      for (const std::string& id : header.recordings.whole) {
        lines.emplace(kRecordingKey, id);
      }
      for (const std::string& id : header.recordings.parts) {
        lines.emplace(kRecordingPartKey, id);
      }
    }
    for (const auto& [key, id] : lines) {
      RETURN_IF_ERROR(sink_(p::Meta{key, id}));
    }
    has_several_ = lines.size() > 1;
    return {};
  }

  Status begin_recording(std::string_view id) {
    if (!has_several_ || id == recording_) {
      return {};
    }
    recording_ = id;
    return sink_(p::Meta{kRecordingRowsKey, recording_});
  }

  Status take_records(p::Reader& reader, const InputHeader& header) {
    if (!header.next) {
      return {};
    }
    p::Record first = *header.next;
    Status taken = take_one(reader, first);
    while (taken) {
      auto batch = reader.next_batch();
      RETURN_IF_ERROR(batch);
      if (batch->at_end()) {
        return {};
      }
      taken = batch->record != nullptr ? take_one(reader, *batch->record) : take_rows(reader, *batch);
    }
    return taken;
  }

  Status take_one(p::Reader& reader, p::Record& record) {
    return report_outcome(
        reader, reader.line(),
        ended_ && !std::holds_alternative<p::Unknown>(record) ? MergeReason(kMergeAfterEnd) : take_record(record));
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
      if (Status reported =
              report_outcome(reader, ++line, ended_ ? MergeReason(kMergeAfterEnd) : take_row(*std::get_if<Row>(&row_)));
          !reported) {
        return reported;
      }
    }
    return {};
  }

  // Returns the sink's error if the sink has failed. Otherwise handles `reason`, which says why line number `line` is
  // invalid: a lenient reader only counts the line, a strict reader returns the reason as an error.
  Status report_outcome(p::Reader& reader, uint64_t line, const MergeReason& reason) {
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

  // Same as take_record(), but faster if the result has an id for the row's work already. `row` is the record in row_.
  template <typename Row>
  MergeReason take_row(Row& row) {
    const uint32_t position = tables_.position(row.work);
    const bool known = position < gpu_works_.size() && index(gpu_works_[position]) != 0;
    if constexpr (!std::is_same_v<Row, p::EuStall>) {
      if (known) {
        row.work = gpu_works_[position];
        MergeReason reason = shift_slice(row.slice);
        if (!reason) {
          put(row_);
        }
        return reason;
      }
    }
    MergeReason reason = take_record(row_);
    if (!reason && !known) {
      gpu_works_.resize(tables_.works().size());
      gpu_works_[position] = row.work;
    }
    return reason;
  }

  void check_end(const std::string& name, const p::Reader& reader) {
    slice_shift_ns_ = std::max(slice_shift_ns_, saturating_add(had_shift_ns_, new_shift_ns_));
    if (reader.cut_short() || (!ended_ && has_end_)) {
      result_.warnings.push_back(name + " is cut short: it has no END record");
      result_.complete = false;
    }
    if (reader.skipped_unknown() > 0) {
      add_to_sum(kSkippedUnknownKey, reader.skipped_unknown());
      result_.warnings.push_back(name + ": " + counted_text(reader.skipped_unknown(), "record") +
                                 " ignored, of kinds that this version does not know");
    }
    if (reader.skipped_bad() > 0) {
      add_to_sum(kSkippedBadKey, reader.skipped_bad());
      result_.warnings.push_back(name + ": " + counted_text(reader.skipped_bad(), "bad line") + " ignored");
    }
  }

  MergeReason take_record(p::Record& record) {
    if (const auto* meta = std::get_if<p::Meta>(&record)) {
      if (Status put = take_meta(*meta); !put) {
        sink_failed_ = put.error();
      }
      return std::nullopt;
    }
    if (const auto* end = std::get_if<p::End>(&record)) {
      return take_end(*end);
    }
    if (MergeReason reason = tables_.add(record)) {  // add() checks the record before it gets into the result
      return reason;
    }
    // shift() must come first: ids_.map() compares start times on the result's clock.
    if (MergeReason reason = shift(record)) {
      return reason;
    }
    bool is_new = ids_.map(record);
    if (MergeReason reason = count_samples(record)) {
      return reason;
    }
    if (const auto* const window = std::get_if<p::Window>(&record)) {
      is_new = parts_.is_new(*window, recording_);
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
    if (is_one_of(kClockKeys, meta.key) || meta.key == kRecordingKey || meta.key == kRecordingPartKey) {
      return {};
    }
    if (meta.key == kRecordingRowsKey) {
      return begin_recording(meta.value);
    }
    if (meta.key == kSliceShiftKey) {
      had_shift_ns_ = std::max(had_shift_ns_, whole_number(meta.value).value_or(0));
      return {};
    }
    if (is_one_of(kSummedKeys, meta.key)) {
      add_to_sum(meta.key, whole_number(meta.value).value_or(0));
      return {};
    }
    if (parts_.take(meta.key, meta.value)) {
      return {};
    }
    return meta_.emplace(meta.key, meta.value).second ? sink_(meta) : Status();
  }

  void add_to_sum(std::string_view key, uint64_t value) {
    uint64_t& sum = sums_[std::string(key)];
    sum = saturating_add(sum, value);
  }

  // Counts the samples of an input whose format has no END record to state their number.
  MergeReason count_samples(const p::Record& record) {
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

  MergeReason take_end(const p::End& end) {
    ended_ = true;
    end_.end_ns = std::max(end_.end_ns, shift_.time(end.end_ns));
    const bool fits = for_each_field(end_, [&](const auto& field, uint64_t& sum) {
      return field.name == "end_ns" || !__builtin_add_overflow(sum, end.*field.member, &sum);
    });
    return fits ? MergeReason() : MergeReason("the sum of the values in all END records exceeds 64 bits");
  }

  MergeReason shift(p::Record& record) {
    return std::visit(
        [this](auto& r) {
          if constexpr (requires { r.slice; }) {
            return shift_slice(r.slice);
          }
          return shift_times(r);
        },
        record);
  }

  MergeReason shift_slice(uint64_t& slice) {
    const auto shifted = shift_.slice(slice);
    if (shifted) {
      new_shift_ns_ = std::max(new_shift_ns_, shift_.error_ns(slice, *shifted));
      slice = *shifted;
    }
    return shifted ? MergeReason() : MergeReason("the slice's number exceeds 64 bits");
  }

  template <typename R>
  MergeReason shift_times(R& r) const {
    if constexpr (std::is_same_v<R, p::Process>) {
      r.start_ns = shift_.time_or_unknown(r.start_ns);
    } else if constexpr (requires { r.start_ns; }) {
      if (shift_.exceeds(r.end_ns)) {
        return "the time exceeds 64 bits of nanoseconds on the common clock";
      }
      r.start_ns = shift_.time(r.start_ns);
      r.end_ns = shift_.time(r.end_ns);
    }
    if constexpr (std::is_same_v<R, p::Event>) {
      r.queued_ns = shift_.time_or_unknown(r.queued_ns);
      r.submitted_ns = shift_.time_or_unknown(r.submitted_ns);
    }
    return std::nullopt;
  }

  MergeClock clock_;
  const RecordSink& sink_;
  MergeIds ids_;
  p::Tables tables_;
  // The result's work ids, indexed by position in `tables_`; 0 until an id is assigned.
  std::vector<p::WorkId> gpu_works_;
  p::Record row_;
  ClockShift shift_;
  uint64_t slice_shift_ns_ = 0;  // see kSliceShiftKey
  uint64_t had_shift_ns_ = 0;    // that of the current input
  uint64_t new_shift_ns_ = 0;    // by how much this merge moves slices of the current input
  bool ended_ = false;           // true: the current input's END record was read
  bool has_end_ = true;          // false for a profile in the published form (FORMAT.md), which has no END record
  std::set<std::pair<std::string, std::string>> meta_;
  std::map<std::string, uint64_t> sums_;
  SubsetCollector parts_;
  bool has_several_ = false;  // the inputs hold several recordings
  std::string recording_;     // value of the last META recording.rows
  p::End end_;
  std::optional<Error> sink_failed_;
  MergeResult result_{.warnings = {}, .complete = true};
};

// Removes inputs whose work is also in other inputs. Returns a warning for each removed input.
Result<std::vector<std::string>> leave_out_copies(std::vector<MergeInput>& inputs, std::vector<InputHeader>& headers) {
  std::vector<std::string> names;
  std::vector<const Recordings*> recordings;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(inputs[i].name);
    recordings.push_back(&headers[i].recordings);
  }
  auto choice = choose_inputs(names, recordings);
  RETURN_IF_ERROR(choice);
  size_t used = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (choice->used[i]) {
      std::swap(inputs[used], inputs[i]);
      std::swap(headers[used], headers[i]);
      ++used;
    }
  }
  inputs.resize(used);
  headers.resize(used);
  return std::move(choice->warnings);
}

// Returns META part.count of an input. nullopt if the input lacks it, or can be read only once.
std::optional<uint64_t> part_count(const MergeInput& input) {
  if (!input.reopen) {
    return std::nullopt;
  }
  auto reader = input.reopen();
  while (reader) {
    const auto batch = reader->next_batch();
    if (!batch || batch->at_end()) {
      break;
    }
    const auto* const meta = batch->record != nullptr ? std::get_if<p::Meta>(batch->record) : nullptr;
    if (meta != nullptr && meta->key == kPartCount) {
      return whole_number(meta->value);
    }
  }
  return std::nullopt;
}

// If all subsets of a split are among the inputs, their recordings are complete again.
void join_subsets(const std::vector<MergeInput>& inputs, std::vector<InputHeader>& headers) {
  struct Subsets {
    std::set<std::string_view> names;
    std::vector<size_t> inputs;
  };
  std::map<std::string_view, Subsets> splits;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const Recordings& its = headers[i].recordings; !its.split.empty()) {
      Subsets& subsets = splits[its.split];
      subsets.names.insert(its.subset);
      subsets.inputs.push_back(i);
    }
  }
  for (const auto& [split, subsets] : splits) {
    // All subsets have the same part.count. It is at the end of a file, so read the smallest one.
    const size_t smallest = *std::min_element(subsets.inputs.begin(), subsets.inputs.end(), [&](size_t a, size_t b) {
      return std::tuple(!inputs[a].reopen, inputs[a].bytes) < std::tuple(!inputs[b].reopen, inputs[b].bytes);
    });
    if (part_count(inputs[smallest]) != subsets.names.size()) {
      continue;
    }
    for (const size_t i : subsets.inputs) {
      Recordings& its = headers[i].recordings;
      for (const std::string& id : its.whole_if_joined) {
        if (auto part = its.parts.extract(id); !part.empty()) {
          its.whole.insert(std::move(part));
        }
      }
    }
  }
}

}  // namespace

Result<MergeResult> merge(std::vector<MergeInput> inputs, const RecordSink& sink) {
  std::vector<InputHeader> headers;
  size_t recordings = 0;
  for (MergeInput& input : inputs) {
    auto header = input.reader ? read_header(*input.reader) : read_clock_header(input);
    RETURN_IF_ERROR(header);
    recordings += header->recordings.whole.size() + header->recordings.parts.size();
    if (recordings > kMostRecordings) {
      return Error{"the inputs hold more than " + std::to_string(kMostRecordings) + " recordings",
                   "merge fewer profiles at a time"};
    }
    headers.push_back(std::move(header).value());
    headers.back().recordings.bytes = input.bytes;
  }
  auto warnings = leave_out_copies(inputs, headers);
  RETURN_IF_ERROR(warnings);
  join_subsets(inputs, headers);
  const auto clock = common_clock(inputs, headers);
  RETURN_IF_ERROR(clock);
  Merger merger(*clock, sink);
  RETURN_IF_ERROR(merger.begin(headers, std::move(warnings).value()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    MergeInput& input = inputs[i];
    if (!input.reader) {
      auto again = open_again(input, headers[i]);
      RETURN_IF_ERROR(again);
    }
    RETURN_IF_ERROR(merger.take(input.name, *input.reader, headers[i]));
    input.reader.reset();
    headers[i] = {};
  }
  return merger.finish();
}

}  // namespace gpuprof::analyze
