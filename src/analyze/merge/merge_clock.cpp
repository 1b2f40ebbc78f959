#include "analyze/merge/merge_clock.h"

#include <system_error>

#include "analyze/rows/time_window.h"
#include "base/return_if_error.h"
#include "base/saturating_add.h"

namespace gpuprof::analyze {

namespace p = gpuprof::profile;

p::SliceGrid InputHeader::grid() const {
  p::SliceGridReader reader;
  for (const auto& [key, value] : meta) {
    reader.take(key, value);
  }
  return reader.grid();
}

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
    const p::SliceGrid grid = headers[i].grid();
    const bool both_long = grid.has_long() && clock.grid.has_long();
    if (grid.interval_ns != 0 && clock.grid.interval_ns != 0 &&
        (grid.interval_ns != clock.grid.interval_ns || (both_long && grid.long_width != clock.grid.long_width))) {
      return Error{"cannot merge " + inputs[first_with_interval].name + " and " + inputs[i].name +
                       ": their time slices last " + slice_lengths(clock.grid) + " and " + slice_lengths(grid),
                   "record all of them with the same --interval, such as --interval 1s"};
    }
    if (grid.interval_ns != 0 && (clock.grid.interval_ns == 0 || (grid.has_long() && !clock.grid.has_long()))) {
      clock.grid = grid;
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
  // The start is known only now.
  uint64_t first_long = UINT64_MAX;
  for (const InputHeader& header : headers) {
    const p::SliceGrid grid = header.grid();
    first_long = grid.has_long() ? std::min(first_long, saturating_add(grid.first_long, shift_of(header, clock).slices))
                                 : first_long;
  }
  clock.grid.first_long = clock.grid.has_long() ? first_long - first_long % clock.grid.long_width : UINT64_MAX;
  return clock;
}

std::optional<uint64_t> ClockShift::slice(uint64_t slice_then) const {
  const uint64_t half = own.width(slice_then) > 1 ? own.long_width / 2 : 0;
  uint64_t number = 0;
  return __builtin_add_overflow(slice_then, slices, &number) || __builtin_add_overflow(number, half, &number)
             ? std::nullopt
             : std::optional(grid.slice_with(number));
}

uint64_t ClockShift::error_ns(uint64_t slice_then, uint64_t slice_now) const {
  // A short slice that becomes a part of a long one keeps its place in that.
  const bool is_part = own.width(slice_then) < grid.width(slice_now);
  const Int128 moved = is_part ? Int128{slices} : Int128{slice_now} - slice_then;
  const Int128 error = moved * grid.interval_ns - later_ns;
  return static_cast<uint64_t>(std::min(error < 0 ? -error : error, kMost));
}

ClockShift shift_of(const InputHeader& header, const MergeClock& clock) {
  ClockShift shift;
  uint64_t& later_ns = shift.later_ns;
  if (const auto unix_start = header.value("start_unix_ns"); unix_start && clock.start_unix_ns) {
    later_ns = *unix_start - *clock.start_unix_ns;  // cannot underflow: the clock begins with the earliest input
  }
  shift.ns = Int128{clock.start_ns} - header.value("start_ns").value_or(0) + later_ns;
  if (const uint64_t interval_ns = clock.grid.interval_ns; interval_ns > 0) {
    shift.slices = later_ns / interval_ns + (later_ns % interval_ns > interval_ns / 2 ? 1 : 0);
  }
  shift.own = header.grid();
  shift.grid = clock.grid;
  return shift;
}

}  // namespace gpuprof::analyze
