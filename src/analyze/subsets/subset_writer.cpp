#include "analyze/subsets/subset_writer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analyze/merge/merge_clock.h"
#include "analyze/merge/recordings.h"
#include "analyze/rows/totals.h"
#include "analyze/subsets/subset_meta.h"
#include "base/return_if_error.h"
#include "profile/coverage.h"
#include "profile/record_fields.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

}  // namespace

bool is_of_work(const p::Record& row) {
  return !std::holds_alternative<p::Loss>(row) && !std::holds_alternative<p::Coverage>(row) &&
         !std::holds_alternative<p::Weighted>(row) && !std::holds_alternative<p::Idle>(row);
}

bool is_scale(const p::Record& row) {
  using enum p::CoverageCount;
  const auto* coverage = std::get_if<p::Coverage>(&row);
  return std::holds_alternative<p::Weighted>(row) ||
         (coverage != nullptr &&
          is_one_of(std::array{word(represented), word(weighted), word(extrapolated)}, coverage->what));
}

Status SubsetWriter::put_lines(const MetaLines& lines) {
  for (const auto& [key, value] : lines) {
    RETURN_IF_ERROR(sink_(p::Meta{key, value}));
  }
  return {};
}

Status SubsetWriter::put_meta() {
  const MetaLines& lines = whole_.meta();
  for (; meta_written_ < std::min(lines.size(), meta_.most); ++meta_written_) {
    const auto& [key, value] = lines[meta_written_];
    if (!meta_.sums && is_one_of(kSummedKeys, key)) {
      continue;
    }
    const std::string nested =
        meta_.parts_nested && key.starts_with(kPartPrefix) ? std::string(kPartPrefix) + key : key;
    RETURN_IF_ERROR(sink_(p::Meta{nested, value}));
  }
  return {};
}

Status SubsetWriter::begin(const MetaLines& own) {
  const auto& recordings = whole_.recordings();
  for (size_t i = 0; i < std::min(recordings.size(), meta_.most); ++i) {
    const auto& [key, id] = recordings[i];
    RETURN_IF_ERROR(sink_(p::Meta{kRecordingPartKey, id}));
    if (meta_.parts_nested && key == kRecordingKey) {
      RETURN_IF_ERROR(sink_(p::Meta{kPartRecording, id}));
    }
  }
  RETURN_IF_ERROR(put_meta());
  RETURN_IF_ERROR(put_lines(own));
  return begin_recording(whole_.current());
}

Status SubsetWriter::begin_recording(size_t recording) {
  return recording == std::exchange(recording_, recording)
             ? Status()
             : sink_(p::Meta{kRecordingRowsKey, whole_.merged()[recording].id});
}

bool SubsetWriter::count(const p::Record& row) {
  if (const auto* gpu = std::get_if<p::Gpu>(&row)) {
    const bool with_stack = has_stack(*whole_.tables().work(gpu->work));
    return add_to(end_.gpu_records, gpu->count) && add_to(end_.gpu_ns, gpu->sum_ns) && add_to(pieces_, gpu->count) &&
           (!with_stack || add_to(end_.with_stack, gpu->count));
  }
  if (const auto* launch = std::get_if<p::Launch>(&row)) {
    return add_to(pieces_, launch->count);
  }
  if (const auto* sample = std::get_if<p::EuStall>(&row)) {
    return add_to(end_.samples, sample->count);
  }
  if (const auto* loss = std::get_if<p::Loss>(&row)) {
    return add_to(end_.lost, loss->count);
  }
  const auto* coverage = std::get_if<p::Coverage>(&row);
  if (coverage != nullptr && coverage->what == p::word(p::CoverageCount::launches)) {
    has_launches_ = true;
    return add_to(end_.launches, coverage->count);
  }
  return true;
}

Status SubsetWriter::add(p::Record row) {
  is_empty_ = is_empty_ && !is_of_work(row);
  RETURN_IF_ERROR(begin_recording(whole_.current()));
  if (is_of_work(row) || std::holds_alternative<p::Idle>(row)) {
    recordings_.insert(recording_);
  }
  if (!count(row)) {
    return Error{"the sum of all " + std::string(kind_of(row)) + " records exceeds 64 bits"};
  }
  RETURN_IF_ERROR(ids_.map(row));
  return sink_(row);
}

Status SubsetWriter::add_definitions(std::span<const p::ProcessId> processes, std::span<const p::DeviceId> devices) {
  for (const p::ProcessId id : processes) {
    ids_.add(id);
  }
  for (const p::DeviceId id : devices) {
    ids_.add(id);
  }
  return ids_.status();
}

// Writes the windows. Writes an IDLE line of 0 ns for each recording of a merged profile and each device that it
// observed: the subset may lack the rows that would say so.
Status SubsetWriter::put_windows(const Last& last) {
  const auto& merged = whole_.merged();
  for (size_t i = 0; i < merged.size(); ++i) {
    if (i != 0 && !last.all_recordings && !has(i) && !last.more_recordings.contains(i)) {
      continue;
    }
    const std::vector<p::Window> windows =
        last.time ? windows_in(merged[i].windows, *last.time, whole_.start_ns()) : merged[i].windows;
    if (windows.empty()) {
      continue;
    }
    RETURN_IF_ERROR(begin_recording(i));
    const uint64_t slice = whole_.has_grid() ? whole_.slice_of(windows.front().start_ns) : 0;
    for (const p::DeviceId device : ids_.devices()) {
      if (i != 0 && merged[i].devices.contains(device)) {
        p::Record row = p::Idle{.slice = slice, .device = device, .work = {}, .ns = 0};
        RETURN_IF_ERROR(ids_.map(row));
        RETURN_IF_ERROR(sink_(row));
      }
    }
    for (const p::Window& window : windows) {
      RETURN_IF_ERROR(sink_(window));
    }
  }
  return {};
}

Status SubsetWriter::finish(const Last& last) {
  RETURN_IF_ERROR(ids_.explain_places());
  if (last.has_windows) {
    RETURN_IF_ERROR(put_windows(last));
  }
  RETURN_IF_ERROR(put_meta());
  std::set<uint32_t> pids = last.pids;
  for (const p::ProcessId id : ids_.processes()) {
    pids.insert(whole_.tables().process(id)->pid);
  }
  for (const uint32_t pid : pids) {
    const auto lines = whole_.process_meta().find(pid);
    if (lines == whole_.process_meta().end()) {
      continue;
    }
    RETURN_IF_ERROR(put_lines(lines->second));
  }
  if (Status put = put_lines(last.meta); !put || !whole_.end()) {
    return put;
  }
  p::End end = end_;
  end.end_ns = whole_.end()->end_ns;
  end.launches = last.launches;
  return sink_(end);
}

}  // namespace gpuprof::analyze
