#include "backend/drm/stalls/stall_sampling.h"

#include <vector>

namespace gpuprof::backend::drm {
namespace {

constexpr const char* kUnknown = "[unknown]";

}  // namespace

size_t StallSampling::drain(bool on, uint64_t now_ns) {
  now_ns_ = now_ns;
  on_ = on;
  const auto drained = reader_ ? reader_->drain(*this, now_ns) : StallReader::Drained{false, true};
  whole_ = drained.whole;
  join_.finish_windows(now_ns, period(), false);
  return drained.any ? 1 : 0;
}

void StallSampling::stop(const std::function<uint64_t()>& now) {
  join_.end_untimed(now());
  unsigned turns = 0;
  do {
    drain(on_, now());
  } while (!whole_ && ++turns < kMaxFinalReads);
  join_.finish_windows(now(), period(), true);
  if (!whole_) {  // some records were not read, because the GPU writes faster than gpuprof reads
    sink_.on_samples_dropped(submitters_.unknown_source(), 1);
  }
  for (const SourceId source : submitters_.all()) {
    kernels_.report(source, [&](const std::string& text) { sink_.on_meta(source, text); });
  }
  if (reader_) {
    report_reads();
  }
}

void StallSampling::report_reads() {
  const StallReader::Facts& facts = reader_->facts();
  submitters_.add_meta("drm.stalls.streams=" + std::to_string(reader_->streams()));
  submitters_.add_meta("drm.stalls.period_cycles=" + std::to_string(reader_->period()));
  submitters_.add_meta("drm.stalls.drops=" + std::to_string(facts.drops));
  submitters_.add_meta("drm.stalls.resets=" + std::to_string(facts.resets));
  submitters_.add_meta("drm.stalls.ends_inferred=" + std::to_string(join_.ends_inferred()));
  if (join_.not_followed() > 0) {
    submitters_.add_meta("drm.stalls.not_followed=" + std::to_string(join_.not_followed()));
  }
  for (const Error& refused : reader_->refused()) {
    submitters_.add_meta("drm.stalls.refused=" + refused.message);
  }
}

void StallSampling::end_source(SourceId source) {
  join_.end_source(source, now_ns_);
  kernels_.report(source, [&](const std::string& text) { sink_.on_meta(source, text); });
}

void StallSampling::on_kernel(const Job& job, uint64_t start_ns, const std::string& kernel, bool alone) {
  kernels_.add(job, start_ns, kernel, alone);
  if (reader_) {
    submitters_.report_kernel(job, start_ns, kernel);
  }
}

void StallSampling::on_stalls(SourceId source, uint32_t window, const At& at, const StallCounts& counts,
                              bool estimated) {
  std::vector<LocationSamples::Reason> reasons;
  for (size_t stall = 0; stall < kStalls; ++stall) {
    if (counts[stall] != 0) {
      const std::string reason(stall_name(static_cast<Stall>(stall)));
      reasons.push_back({submitters_.name_id(source, reason), counts[stall]});
    }
  }
  sink_.on_location_samples(source, {.module = 0,
                                     .offset = at.offset,
                                     .address = at.address,
                                     .function_id = submitters_.name_id(source, at.kernel),
                                     .window = window,
                                     .reasons = reasons,
                                     .estimated = estimated});
}

void StallSampling::on_window(SourceId source, const SampleWindow& window) {
  sink_.on_sample_window(source, window);
}

void StallSampling::on_unknown(uint32_t device, uint64_t time_ns, const StallCounts& counts) {
  const SourceId unknown_source = submitters_.unknown_source();
  submitters_.device_of(unknown_source, buses_[device], "xe");
  for (size_t stall = 0; stall < kStalls; ++stall) {
    if (counts[stall] != 0) {
      sink_.on_sample({.source = unknown_source,
                       .time_ns = time_ns,
                       .count = counts[stall],
                       .period = period(),
                       .reason = stall_name(static_cast<Stall>(stall)),
                       .name_id = submitters_.name_id(unknown_source, kUnknown),
                       .device = device});
    }
  }
}

void StallSampling::on_record(const StallGt& gt, const StallRecord& record, uint64_t since_ns) {
  if (on_) {
    const uint32_t device = submitters_.device_number(gt.bus);
    buses_.try_emplace(device, gt.bus);
    join_.on_record(device, record, since_ns, now_ns_);
  }
}

void StallSampling::on_dropped(const StallGt& /*gt*/) {
  if (on_) {
    sink_.on_samples_dropped(submitters_.unknown_source(), 1);
  }
}

}  // namespace gpuprof::backend::drm
