#include "record/join/sample_join.h"

#include "profile/loss.h"
#include "record/join/sums/bounded_sum.h"

namespace gpuprof::record {

void SampleJoin::on_sample(const backend::Sample& sample) {
  const Source* source = parts_.producers.find(sample.source);
  if (!admit(source, sample.count)) {
    return;
  }
  if (source == nullptr) {
    drop(nullptr, sample.count);  // it has ended
    return;
  }
  if (sample.outside) {
    return;  // by choice, as the work that it was taken in
  }
  waiting_.take_or_wait(event_of(*source, sample), Patience::fresh,
                        [this](const Event& event, Patience left) { return take(event, left); });
}

void SampleJoin::on_dropped(backend::SourceId id, uint64_t count) {
  const Source* source = parts_.producers.find(id);
  if (admit(source, count)) {
    drop(source, count);
  }
}

// Whether their sum still fits. Of a count that can not be true at least one is missing.
bool SampleJoin::admit(const Source* source, uint64_t count) {
  const bool fits = add_if_it_fits(seen_, count);
  if (!fits) {
    drop(source, 1);
  }
  return fits;
}

void SampleJoin::drop(const Source* source, uint64_t count) {
  const profile::ProcessId process = source == nullptr ? profile::ProcessId{} : source->process();
  join_.tally.add_loss(process, profile::LossReason::samples_dropped, count);
}

SampleJoin::Event SampleJoin::event_of(const Source& source, const backend::Sample& sample) {
  NameTable& names = parts_.producers.names();
  return {.site = launch_site(sample),
          .time_ns = sample.time_ns,
          .count = sample.count,
          .key = {.place = source.gpu_code.place(sample.place),
                  .reason = names.intern(sample.reason),
                  .sampling = rows_.sampling(sample.period, sample.unit, names),
                  .flags = sample.estimated ? profile::kSampleEstimated : 0}};
}

void SampleJoin::settle(bool last, backend::SourceId only) {
  waiting_.settle(last, only, [this](const Event& event, Patience left) { return take(event, left); });
  sharing_.settle(last, only);
  counts_.settle(last, only);
}

void SampleJoin::end_source(backend::SourceId source) {
  sharing_.end_source(source);
}

profile::SamplingId SampleJoin::sampling(uint64_t period, backend::SamplingUnit unit) {
  return rows_.sampling(period, unit, parts_.producers.names());
}

// Accounts for the sample. False: it has to wait.
bool SampleJoin::take(const Event& event, Patience patience) {
  Source* source = parts_.producers.find(event.site.source);
  if (source == nullptr) {
    drop(nullptr, event.count);
    return true;
  }
  const Launch* launch = parts_.launches.find(event.site);
  if (!work_.is_ready(*source, event.site, launch, patience)) {
    return false;
  }
  if (!is_left_out(event, launch)) {
    add(*source, event, launch);
  }
  return true;
}

// As of GPU work: launches are told of only while recording is on; where there is none, the sample's own time decides.
bool SampleJoin::is_left_out(const Event& event, const Launch* launch) {
  const bool may_be_off = launch == nullptr && !event.site.unsampled;
  const bool left_out = may_be_off && !parts_.windows.contains(event.time_ns);
  join_.tally.totals().off_samples += left_out ? event.count : 0;
  return left_out;
}

void SampleJoin::add(Source& source, const Event& event, const Launch* launch) {
  WorkKey work = work_.key_of(source, event.site, launch);
  SampleKey key = event.key;
  key.work = parts_.rows.intern(work);
  add(key, event.time_ns, event.count, work.stack != 0);
  const bool knows_launch = launch != nullptr && !launch->orphan;
  if (!knows_launch && event.site.has_call && !event.site.unsampled) {
    join_.tally.coverage(source.id).samples_without_launch(event.count);
  }
}

void SampleJoin::add(SampleKey key, uint64_t at_ns, uint64_t count, bool has_stack) {
  key.slice = join_.slice_of(at_ns);
  rows_.add(key, count);
  Totals& totals = join_.tally.totals();
  totals.samples += count;
  totals.samples_with_stack += has_stack ? count : 0;
}

}  // namespace gpuprof::record
