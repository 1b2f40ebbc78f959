#include "record/write/recent_rows.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <variant>

#include "profile/coverage.h"
#include "profile/writer.h"
#include "record/join/context/windows.h"

namespace gpuprof::record {
namespace {

namespace p = gpuprof::profile;

constexpr std::string_view kWindowKey = "recording.window";
constexpr std::string_view kRotationKey = "recording.rotation";

template <typename... R>
bool is_any_of(const p::Record& record) {
  return (std::holds_alternative<R>(record) || ...);
}

}  // namespace

bool RecentRows::takes(const p::Record& record) {
  return !is_any_of<p::Coverage, p::Latency, p::End>(record);
}

void RecentRows::add(const p::Record& record, std::string_view line, uint64_t now_ns) {
  if (const auto* window = std::get_if<p::Window>(&record)) {
    windows_.push_back(*window);
    return;
  }
  if (const auto* meta = std::get_if<p::Meta>(&record); meta != nullptr && meta->key == "recording") {
    recording_ = meta->value;
    return;
  } else if (meta != nullptr && meta->key == kWindowKey) {
    window_ = meta->value;
    return;
  }
  if (const auto* work = std::get_if<p::Work>(&record)) {
    works_.resize(std::max(works_.size(), size_t{p::index(work->id)} + 1));
    works_[p::index(work->id)] = {work->device, p::has_stack(*work)};
    if (work->op == p::Op::no_work) {
      no_work_[work->id] = work->process;
    }
  }
  const auto slice = std::visit(
      [&]<typename R>(const R& row) -> std::optional<uint64_t> {
        if constexpr (requires { row.slice; }) {
          return row.slice;
        } else if constexpr (std::is_same_v<R, p::Event> || std::is_same_v<R, p::Call> || std::is_same_v<R, p::Span>) {
          return slice_of(row.end_ns);
        } else if constexpr (std::is_same_v<R, p::Loss>) {
          return slice_of(now_ns);
        }
        return std::nullopt;
      },
      record);
  if (slice && *slice < first_) {
    return;
  }
  memory_->grew(line.size());
  if (!slice) {
    definitions_ += line;
    return;
  }
  Slice& kept = slices_[*slice];
  (is_any_of<p::Share, p::Idle>(record) ? kept.shares : kept.text) += line;
  count(record, kept);
}

void RecentRows::count(const p::Record& record, Slice& slice) const {
  p::End& sums = slice.sums;
  if (const auto* gpu = std::get_if<p::Gpu>(&record)) {
    const KnownWork work = known(gpu->work);
    sums.gpu_records += gpu->count;
    sums.gpu_ns += gpu->sum_ns;
    sums.launches += gpu->count;
    sums.with_stack += work.has_stack ? gpu->count : 0;
    slice.devices.insert(work.device);
  } else if (const auto* share = std::get_if<p::Share>(&record)) {
    slice.charged[known(share->work).device] += share->busy_ns;
  } else if (const auto* idle = std::get_if<p::Idle>(&record)) {
    slice.charged[idle->device] += idle->ns;
  } else if (const auto* launch = std::get_if<p::Launch>(&record)) {
    sums.launches += launch->count;
  } else if (const auto* sample = std::get_if<p::EuStall>(&record)) {
    sums.samples += sample->count;
  } else if (const auto* loss = std::get_if<p::Loss>(&record)) {
    sums.lost += loss->count;
  } else if (const auto* host = std::get_if<p::Host>(&record)) {
    if (const auto process = no_work_.find(host->work); process != no_work_.end()) {
      slice.without_record[process->second] += host->count;
    }
  }
}

void RecentRows::forget(uint64_t now_ns) {
  forget_before(now_ns - std::min(now_ns, last_ns_));
}

void RecentRows::forget_before(uint64_t ns) {
  first_ = std::max(first_, slice_of(ns));
  slices_.erase(slices_.begin(), slices_.lower_bound(first_));
  const uint64_t begin_ns = start_ns_ + first_ * interval_ns_;
  std::erase_if(windows_, [begin_ns](const p::Window& window) { return window.end_ns < begin_ns; });
}

RecentRows::KnownWork RecentRows::known(p::WorkId id) const {
  return p::index(id) < works_.size() ? works_[p::index(id)] : KnownWork();
}

std::vector<p::Window> RecentRows::windows_of(const Rewrite& order) const {
  std::vector<p::Window> windows = windows_;
  if (order.window_ns != 0) {
    windows.push_back({order.window_ns, order.end_ns, 1});
  }
  for (p::Window& window : windows) {
    window.start_ns = std::max(window.start_ns, order.begin_ns);
    window.end_ns = std::min(window.end_ns, order.until_ns);
  }
  std::erase_if(windows, [](const p::Window& window) { return window.start_ns >= window.end_ns; });
  return windows;
}

void RecentRows::charge_gaps(const Rewrite& order, const std::vector<p::Window>& windows, std::string& text) const {
  std::set<p::DeviceId> devices;
  for (const auto& [number, slice] : slices_) {
    const uint64_t begin_ns = start_ns_ + number * interval_ns_;
    if (begin_ns >= order.begin_ns && begin_ns < order.until_ns) {
      devices.insert(slice.devices.begin(), slice.devices.end());
    }
  }
  Windows recorded;
  for (const p::Window& window : windows) {
    recorded.open(window.start_ns);
    recorded.close(window.end_ns);
  }
  for (uint64_t number = slice_of(order.begin_ns); start_ns_ + number * interval_ns_ < recorded.end(); ++number) {
    const uint64_t begin_ns = start_ns_ + number * interval_ns_;
    const uint64_t recorded_ns = recorded.recorded(begin_ns, begin_ns + interval_ns_);
    const auto slice = slices_.find(number);
    std::map<p::DeviceId, uint64_t> charged;
    if (slice != slices_.end()) {
      charged = slice->second.charged;
    }
    for (const p::DeviceId device : devices) {
      if (charged[device] < recorded_ns) {
        p::format_line(p::Idle{number, device, {}, recorded_ns - charged[device]}, text);
      }
    }
  }
}

// Returns the end of a file of a rotation, as META recording.rotation has it.
std::string RecentRows::end_of(const Rewrite& order) const {
  if (order.until_ns != UINT64_MAX) {
    return std::to_string(slice_of(order.until_ns) * interval_ns_);
  }
  return order.is_complete ? "end" : "-";
}

void RecentRows::write(Rewrite& order, std::string& text) const {
  const uint64_t first = std::max(first_, slice_of(order.from_ns));
  const auto end = order.until_ns == UINT64_MAX ? slices_.end() : slices_.lower_bound(slice_of(order.until_ns));
  const bool is_rotated = !order.recording.empty();
  const bool is_part = !is_rotated && (first > 0 || order.until_ns != UINT64_MAX);
  p::format_header(text);
  if (const std::string& id = is_rotated ? order.recording : recording_; !id.empty()) {
    // Two files of --last may overlap, or have no work in common.
    p::format_line(p::Meta{is_part ? "recording.part" : "recording", id}, text);
  }
  if (is_rotated) {
    p::format_line(p::Meta{kRotationKey, recording_ + " " + std::to_string(first * interval_ns_) + " " + end_of(order)},
                   text);
  }
  text += definitions_;
  if (const std::string window = window_ + (is_part && !window_.empty() ? " " : "") + (is_part ? option_ : "");
      !window.empty()) {
    p::format_line(p::Meta{kWindowKey, window}, text);
  }
  for (auto slice = slices_.lower_bound(first); slice != end; ++slice) {
    const Slice& kept = slice->second;
    text += kept.text;
    text += order.is_swept ? kept.shares : "";
    for (const auto& [process, count] : order.is_complete ? kept.without_record : decltype(kept.without_record)()) {
      p::format_line(p::Coverage{process, word(p::CoverageCount::without_record), count}, text);
    }
    for (const auto number : {&p::End::launches, &p::End::gpu_records, &p::End::gpu_ns, &p::End::with_stack,
                              &p::End::samples, &p::End::lost}) {
      order.sums.*number += kept.sums.*number;
    }
  }
  order.begin_ns = start_ns_ + first * interval_ns_;
  order.sums.end_ns = std::min(order.end_ns, order.until_ns);
  if (order.is_complete) {
    const std::vector<p::Window> windows = windows_of(order);
    if (order.is_swept && order.until_ns != UINT64_MAX) {
      charge_gaps(order, windows, text);
    }
    for (const p::Window& window : windows) {
      p::format_line(window, text);
    }
    p::format_line(order.sums, text);
  }
}

}  // namespace gpuprof::record
