#include "analyze/merge/merge_clock.h"

#include <system_error>

#include "base/return_if_error.h"

namespace gpuprof::analyze {

namespace p = gpuprof::profile;

Result<InputHeader> read_header(p::Reader& reader) {
  InputHeader header;
  for (;;) {
    auto next = reader.next();
    RETURN_IF_ERROR(next);
    const auto* meta = next->has_value() ? std::get_if<p::Meta>(&**next) : nullptr;
    if (meta == nullptr) {
      header.next = *next;
      header.recordings = recordings_of(header.meta);
      return header;
    }
    header.meta.emplace_back(meta->key, meta->value);
  }
}

Result<InputHeader> read_clock_header(const MergeInput& input) {
  auto reader = input.reopen();
  RETURN_IF_ERROR(reader);
  auto header = read_header(*reader);
  if (header) {
    // The record in `next` points into the memory of the reader, which is closed when this function returns.
    header->next.reset();
    std::erase_if(header->meta, [](const auto& meta) { return !is_one_of(kClockKeys, meta.first); });
  }
  return header;
}

Status open_again(MergeInput& input, InputHeader& header) {
  auto reader = input.reopen();
  RETURN_IF_ERROR(reader);
  auto whole = read_header(*reader);
  RETURN_IF_ERROR(whole);
  for (const std::string_view key : kClockKeys) {
    if (whole->value(key) != header.value(key)) {
      return Error{input.name + " was changed while it was read", "merge it when its recording has ended"};
    }
  }
  header = std::move(whole).value();
  input.reader = std::move(reader).value();
  return {};
}

Result<MergeClock> common_clock(const std::vector<MergeInput>& inputs, const std::vector<InputHeader>& headers) {
  MergeClock clock;
  size_t first_with_interval = 0;
  bool has_start = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto interval = headers[i].value("interval_ns");
    if (interval && clock.interval_ns && *interval != *clock.interval_ns) {
      return Error{"cannot merge " + inputs[first_with_interval].name + " and " + inputs[i].name +
                       ": their time slices last " + std::to_string(*clock.interval_ns) + " ns and " +
                       std::to_string(*interval) + " ns",
                   "record them with the same --interval"};
    }
    if (interval && !clock.interval_ns) {
      clock.interval_ns = interval;
      first_with_interval = i;
    }
    const auto start = headers[i].value("start_ns");
    const auto unix_start = headers[i].value("start_unix_ns");
    const bool first =
        unix_start ? !clock.start_unix_ns || *unix_start < *clock.start_unix_ns : start.has_value() && !has_start;
    if (first) {
      clock.start_ns = start.value_or(0);
      clock.start_unix_ns = unix_start;
      has_start = true;
    }
  }
  return clock;
}

ClockShift shift_of(const InputHeader& header, const MergeClock& clock) {
  ClockShift shift;
  uint64_t later_ns = 0;
  if (const auto unix_start = header.value("start_unix_ns"); unix_start && clock.start_unix_ns) {
    later_ns = *unix_start - *clock.start_unix_ns;  // cannot underflow: the clock begins with the earliest input
  }
  shift.ns = Int128{clock.start_ns} - header.value("start_ns").value_or(0) + later_ns;
  if (clock.interval_ns && *clock.interval_ns > 0) {
    shift.slices = later_ns / *clock.interval_ns + (later_ns % *clock.interval_ns > *clock.interval_ns / 2 ? 1 : 0);
  }
  return shift;
}

}  // namespace gpuprof::analyze
