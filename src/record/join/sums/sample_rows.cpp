#include "record/join/sums/sample_rows.h"

#include "base/hash.h"
#include "profile/loss.h"
#include "record/join/sums/bounded_sum.h"

namespace gpuprof::record {

size_t SampleRows::Hash::operator()(const SampleKey& key) const {
  uint64_t h = hash_of(hash_of(key.slice) ^ join_ids(profile::index(key.work), profile::index(key.place)));
  h = hash_of(h ^ join_ids(key.reason, profile::index(key.sampling)));
  return hash_of(h ^ key.flags);
}

bool SampleRows::admit(const Source* source, uint64_t count) {
  const bool fits = add_if_it_fits(seen_, count);
  if (!fits) {
    // The target's count is impossible, and the real number is unknown. Count one loss.
    drop(source, 1);
  }
  return fits;
}

void SampleRows::drop(const Source* source, uint64_t count) {
  const profile::ProcessId process = source == nullptr ? profile::ProcessId{} : source->process();
  join_.counters.add_loss(process, profile::LossReason::samples_dropped, count);
}

profile::SamplingId SampleRows::sampling(uint64_t period, backend::SamplingUnit unit) {
  if (period == 0) {
    return {};
  }
  const bool is_ns = unit == backend::SamplingUnit::ns;
  auto& known = is_ns ? ns_ : cycles_;
  if (const auto found = known.find(period); found != known.end()) {
    return found->second;
  }
  const size_t count = cycles_.size() + ns_.size();
  if (count >= kMaxSamplings || !join_.memory().admit()) {
    return {};
  }
  const profile::SamplingId id{static_cast<uint32_t>(count + 1)};
  known.emplace(period, id);
  new_samplings_.push_back({id, period, name_id(names_.intern(is_ns ? "ns" : "cycles"))});
  return id;
}

// Above the memory budget or kMaxRows (a slow disk), a new row keeps only its work and flags, in the batch's slice.
SampleKey SampleRows::bounded(const SampleKey& key) const {
  if ((rows_.size() < kMaxRows && !join_.memory().is_limited()) || rows_.contains(key)) {
    return key;
  }
  join_.memory().leave_out();
  return {.slice = batch_slice_, .work = key.work, .flags = key.flags};
}

void SampleRows::add(SampleKey key, uint64_t at_ns, uint64_t count, bool has_stack) {
  key.slice = join_.slice_of(at_ns);
  rows_[bounded(key)] += count;
  Totals& totals = join_.counters.totals();
  totals.samples += count;
  totals.samples_with_stack += has_stack ? count : 0;
}

void SampleRows::take_new(Batch& batch) {
  batch_slice_ = join_.slice_of(join_.options.clock());
  batch.samplings = std::exchange(new_samplings_, {});
  batch.samples.assign(rows_.begin(), rows_.end());
  rows_.clear();
}

}  // namespace gpuprof::record
