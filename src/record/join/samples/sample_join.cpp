#include "record/join/samples/sample_join.h"

#include "record/join/launches/attribution.h"
#include "record/join/sums/rows.h"

namespace gpuprof::record {

SampleJoin::SampleJoin(JoinContext& join, const JoinParts& parts)
    : join_(join),
      parts_(parts),
      rows_(join, parts.producers.names()),
      loaded_(join, parts.producers),
      places_(join, parts.producers),
      window_samples_(join, parts, rows_, loaded_, places_),
      counts_(join, parts.producers, places_) {}

void SampleJoin::on_sample(const backend::Sample& sample) {
  const Source* source = parts_.producers.find(sample.source);
  if (!rows_.admit(source, sample.count)) {
    return;
  }
  if (source == nullptr) {
    rows_.drop(nullptr, sample.count);  // the source has ended
    return;
  }
  if (sample.outside) {
    return;  // as its GPU work, the sample is outside of --nvtx-range
  }
  pending_.take_or_keep(event_of(*source, sample), RetryPolicy::first_try,
                        [this](const Event& event, RetryPolicy policy) { return take(event, policy); });
}

void SampleJoin::on_dropped(backend::SourceId id, uint64_t count) {
  const Source* source = parts_.producers.find(id);
  if (rows_.admit(source, count)) {
    rows_.drop(source, count);
  }
}

SampleJoin::Event SampleJoin::event_of(const Source& source, const backend::Sample& sample) {
  return {.site = launch_site(sample),
          .time_ns = sample.time_ns,
          .count = sample.count,
          .key = {.place = source.gpu_code.place(sample.place),
                  .reason = parts_.producers.names().intern(sample.reason),
                  .sampling = rows_.sampling(sample.period, sample.unit),
                  .flags = sample.estimated ? profile::kSampleEstimated : 0}};
}

void SampleJoin::retry_pending(bool last, backend::SourceId only) {
  pending_.retry_pending(last, only, [this](const Event& event, RetryPolicy policy) { return take(event, policy); });
  loaded_.retry_pending();
  window_samples_.retry_pending(last, only);
  counts_.retry_pending(last, only);
}

void SampleJoin::end_source(backend::SourceId source) {
  window_samples_.end_source(source);
  places_.end_source(source);
  loaded_.end_source(source);
}

// Attributes the sample or drops it, and returns true. Returns false if the sample must wait.
bool SampleJoin::take(const Event& event, RetryPolicy policy) {
  Source* source = parts_.producers.find(event.site.source);
  if (source == nullptr) {
    rows_.drop(nullptr, event.count);
    return true;
  }
  const PendingLaunch* launch = parts_.launches.find(event.site);
  if (!parts_.attribution.is_ready(*source, event.site, launch, policy)) {
    return false;
  }
  if (!is_left_out(event, launch)) {
    add(*source, event, launch);
  }
  return true;
}

// Leaves out samples that were taken while recording was off. Their launch is unknown, so the time of the sample
// decides.
bool SampleJoin::is_left_out(const Event& event, const PendingLaunch* launch) {
  const bool left_out = launch == nullptr && !parts_.windows.contains(event.time_ns);
  join_.counters.totals().off_samples += left_out ? event.count : 0;
  return left_out;
}

void SampleJoin::add(Source& source, const Event& event, const PendingLaunch* launch) {
  WorkKey work = parts_.attribution.key_of(source, event.site, launch);
  SampleKey key = event.key;
  key.work = parts_.rows.intern(work);
  rows_.add(key, event.time_ns, event.count, work.stack != 0);
  const bool knows_launch = launch != nullptr && !launch->orphan;
  if (!knows_launch && event.site.has_call) {
    join_.counters.coverage(source.id).count(profile::CoverageCount::samples_without_launch, event.count);
  }
}

}  // namespace gpuprof::record
