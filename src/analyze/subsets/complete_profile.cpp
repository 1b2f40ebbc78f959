#include "analyze/subsets/complete_profile.h"

#include <array>
#include <charconv>
#include <type_traits>
#include <variant>

#include "analyze/merge/merge_clock.h"
#include "analyze/merge/recordings.h"
#include "analyze/rows/totals.h"
#include "base/text/numbers.h"
#include "profile/coverage.h"
#include "profile/record_fields.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// Returns the pid of a key such as "process.4242.cuda.version".
std::optional<uint32_t> pid_of(std::string_view key) {
  constexpr std::string_view kPrefix = "process.";
  if (!key.starts_with(kPrefix)) {
    return std::nullopt;
  }
  uint32_t pid = 0;
  const char* const last = key.data() + key.size();
  const auto [end, error] = std::from_chars(key.data() + kPrefix.size(), last, pid);
  return error == std::errc() && end != last && *end == '.' ? std::optional(pid) : std::nullopt;
}

// Sets a member of RowOwner, unless the id is 0.
template <typename Id>
void set_unless_0(Id id, std::optional<Id>& member) {
  if (index(id) != 0) {
    member = id;
  }
}

template <typename R>
RowOwner belongs_to(const R& r, const CompleteProfile& whole) {
  RowOwner row;
  if constexpr (requires { r.work; }) {
    set_unless_0(r.work, row.work);
    if (const p::Work* const work = whole.tables().work(r.work)) {
      set_unless_0(work->process, row.process);
      set_unless_0(work->device, row.device);
    }
  }
  if constexpr (requires { r.process; }) {
    set_unless_0(r.process, row.process);
  }
  if constexpr (requires { r.device; }) {
    set_unless_0(r.device, row.device);
  }
  if constexpr (requires { r.ustack; }) {
    row.ustack = r.ustack;
  }
  if constexpr (requires { r.slice; }) {
    if constexpr (!std::is_same_v<R, p::Weighted>) {  // each subset needs all of these lines
      row.slice = r.slice;
    }
  } else if constexpr (requires { r.end_ns; }) {
    if (whole.has_grid()) {
      row.slice = whole.slice_of(r.end_ns);
    }
  }
  return row;
}

}  // namespace

// Ignores overflow, which SubsetWriter::count() reports.
void CompleteProfile::count(const p::Record& row) {
  if (const auto* gpu = std::get_if<p::Gpu>(&row)) {
    gpu_records_ += gpu->count;
    gpu_ns_ += gpu->sum_ns;
  } else if (const auto* sample = std::get_if<p::EuStall>(&row)) {
    samples_ += sample->count;
  } else if (const auto* loss = std::get_if<p::Loss>(&row)) {
    lacks_gpu_work_ = lacks_gpu_work_ || (loss->count > 0 && p::is_lost_work(loss->reason));
  } else if (const auto* coverage = std::get_if<p::Coverage>(&row)) {
    using enum p::CoverageCount;
    lacks_gpu_work_ =
        lacks_gpu_work_ ||
        (coverage->count > 0 &&
         is_one_of(std::array{word(without_record), word(between_windows), word(outside_range)}, coverage->what));
  }
}

std::vector<std::string> CompleteProfile::mismatches() const {
  std::vector<std::string> texts;
  if (end_) {
    for (std::string text :
         {end_mismatch("GPU records", end_->gpu_records, gpu_records_),
          end_mismatch("ns of GPU time", end_->gpu_ns, gpu_ns_), end_mismatch("samples", end_->samples, samples_)}) {
      if (!text.empty()) {
        texts.push_back(std::move(text));
      }
    }
  }
  return texts;
}

Result<bool> CompleteProfile::take(const p::Record& record) {
  return std::visit(
      [&]<typename R>(const R& r) -> Result<bool> {
        if constexpr (p::kIsRow<R>) {
          if constexpr (std::is_same_v<R, p::Idle>) {
            merged_[current_].devices.insert(r.device);
            return r.ns != 0 || current_ == 0;  // a subset says with 0 ns that a recording observed the device
          } else if constexpr (std::is_same_v<R, p::Share>) {
            if (const p::Work* const work = tables_.work(r.work); current_ != 0 && work != nullptr) {
              merged_[current_].devices.insert(work->device);
            }
          }
          count(record);
          return true;
        } else if constexpr (std::is_same_v<R, p::Meta>) {
          take_meta(r);
        } else if constexpr (std::is_same_v<R, p::Window>) {
          windows_.push_back(r);
          merged_[current_].windows.push_back(r);
        } else if constexpr (std::is_same_v<R, p::End>) {
          end_ = r;
        } else if constexpr (!std::is_same_v<R, p::Unknown>) {
          if (auto reason = tables_.add(record)) {
            return Error{*reason};
          }
        }
        return false;
      },
      record);
}

void CompleteProfile::begin_recording(std::string_view id) {
  if (id.empty()) {
    current_ = 0;
    return;
  }
  const auto [known, is_new] = positions_.try_emplace(std::string(id), merged_.size());
  current_ = known->second;
  if (is_new) {
    merged_.push_back({.id = known->first, .windows = {}, .devices = {}});
  }
}

void CompleteProfile::take_meta(const p::Meta& meta) {
  if (meta.key == kRecordingRowsKey) {
    begin_recording(meta.value);
    return;
  }
  if (meta.key == "start_ns") {
    start_ns_ = whole_number(meta.value).value_or(0);
  }
  grid_.take(meta.key, meta.value);
  lacks_gpu_work_ = lacks_gpu_work_ || meta.key == "sweep.late_ns";
  if (meta.key == kRecordingKey || meta.key == kRecordingPartKey) {
    recordings_.emplace_back(meta.key, meta.value);
    return;
  }
  const auto pid = pid_of(meta.key);
  (pid ? process_meta_[*pid] : meta_).emplace_back(meta.key, meta.value);
}

RowOwner owner_of(const p::Record& row, const CompleteProfile& whole) {
  return std::visit([&](const auto& r) { return belongs_to(r, whole); }, row);
}

}  // namespace gpuprof::analyze
