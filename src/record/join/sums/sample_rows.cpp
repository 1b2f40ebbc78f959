#include "record/join/sums/sample_rows.h"

#include "base/hash.h"

namespace gpuprof::record {

size_t SampleRows::Hash::operator()(const SampleKey& key) const {
  uint64_t h = hash_of(hash_of(key.slice) ^ join_ids(profile::index(key.work), profile::index(key.place)));
  h = hash_of(h ^ join_ids(key.reason, profile::index(key.sampling)));
  return hash_of(h ^ key.flags);
}

profile::SamplingId SampleRows::sampling(uint64_t period, backend::SamplingUnit unit, NameTable& names) {
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
  new_samplings_.push_back({id, period, name_id(names.intern(is_ns ? "ns" : "cycles"))});
  return id;
}

// Beyond the memory budget, or where the disk is too slow for so many lines, a sample loses its detail and its slice.
SampleKey SampleRows::bounded(const SampleKey& key) const {
  if ((rows_.size() < kMaxRows && !join_.memory().is_limited()) || rows_.contains(key)) {
    return key;
  }
  join_.memory().leave_out();
  return {.slice = batch_slice_, .work = key.work, .flags = key.flags};
}

void SampleRows::add(const SampleKey& key, uint64_t count) {
  rows_[bounded(key)] += count;
}

void SampleRows::take_new(Batch& batch) {
  batch_slice_ = join_.slice_of(join_.options.clock());
  batch.samplings = std::exchange(new_samplings_, {});
  batch.samples.assign(rows_.begin(), rows_.end());
  rows_.clear();
}

}  // namespace gpuprof::record
