#include "record/join/sample_join.h"

#include "profile/loss.h"
#include "record/join/sums/bounded_sum.h"

namespace gpuprof::record {

void SampleJoin::on_sample(const backend::Sample& sample) {
  if (!add_if_it_fits(seen_, sample.count)) {
    join_.tally.refuse_record();
    return;
  }
  const Source* source = parts_.producers.find(sample.source);
  if (source == nullptr) {
    drop({}, sample.count);  // it has ended
    return;
  }
  const Event event = event_of(*source, sample);
  if (!take(event, waiting_.size() < kMaxWaiting ? Patience::fresh : Patience::none)) {
    waiting_.push_back({event, 0});
  }
}

void SampleJoin::on_dropped(backend::SourceId id, uint64_t count) {
  if (!add_if_it_fits(seen_, count)) {
    join_.tally.refuse_record();
    return;
  }
  const Source* source = parts_.producers.find(id);
  drop(source == nullptr ? profile::ProcessId{} : source->process(), count);
}

void SampleJoin::drop(profile::ProcessId process, uint64_t count) {
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
  std::erase_if(waiting_, [&](Waiting& waiting) {
    if (only != 0 && waiting.event.site.source != only) {
      return false;
    }
    const bool patient = !last && ++waiting.turns < kMaxTurns;
    return take(waiting.event, patient ? Patience::settled : Patience::none);
  });
}

// Accounts for the sample. False: it has to wait.
bool SampleJoin::take(const Event& event, Patience patience) {
  Source* source = parts_.producers.find(event.site.source);
  if (source == nullptr) {
    drop({}, event.count);
    return true;
  }
  const Launch* launch = parts_.launches.find(event.site);
  if (!work_.is_ready(*source, event.site, launch, patience)) {
    return false;
  }
  const Launch* known = launch != nullptr && !launch->orphan ? launch : nullptr;
  if (!is_left_out(event, known != nullptr || event.site.unsampled)) {
    add(*source, event, known);
  }
  return true;
}

// Launches are told of only while recording is on: where there is none, the sample's own time decides.
bool SampleJoin::is_left_out(const Event& event, bool knows_launch) {
  const bool left_out = !knows_launch && !parts_.windows.contains(event.time_ns);
  join_.tally.totals().off_samples += left_out ? event.count : 0;
  return left_out;
}

void SampleJoin::add(Source& source, const Event& event, const Launch* launch) {
  WorkKey work = work_.key_of(source, event.site, launch);
  SampleKey key = event.key;
  key.slice = join_.slice_of(event.time_ns);
  key.work = parts_.rows.intern(work);
  rows_.add(key, event.count);
  join_.tally.totals().samples += event.count;
  if (launch == nullptr && event.site.has_call && !event.site.unsampled) {
    join_.tally.coverage(source.id).samples_without_launch(event.count);
  }
}

}  // namespace gpuprof::record
