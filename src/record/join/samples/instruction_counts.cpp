#include "record/join/samples/instruction_counts.h"

#include <string>

#include "profile/loss.h"
#include "record/join/sums/bounded_sum.h"

namespace gpuprof::record {

void InstructionCounts::on_count(const Source& source, const backend::PlaceCount& count) {
  const Key key{source.id, count.module, count.function_id, count.offset, count.device, count.name_id};
  auto known = waiting_.find(key);
  if (known == waiting_.end()) {
    if (waiting_.size() >= kMaxCounts || !join_.memory().admit()) {
      drop();
      return;
    }
    known = waiting_.emplace(key, Waiting{.since_ns = join_.now_ns}).first;
    join_.memory().grew(sizeof(*known) + 4 * sizeof(void*));
  }
  if (!add_if_it_fits(known->second.value, count.value)) {
    drop();
  }
}

void InstructionCounts::retry_pending(bool last, backend::SourceId only) {
  std::erase_if(waiting_, [&](const auto& waiting) {
    const backend::SourceId source = std::get<0>(waiting.first);
    return (only == 0 || source == only) && take(waiting.first, waiting.second, last);
  });
}

// Returns false if the names or the code have not arrived.
bool InstructionCounts::take(const Key& key, const Waiting& waiting, bool last) {
  const auto& [id, module, function, offset, device, name] = key;
  Source* const source = producers_.find(id);
  if (source == nullptr) {
    drop();
    return true;
  }
  const CodeLocation at{id, module, source->name(function), offset};
  const bool may_wait = !last && join_.now_ns < waiting.since_ns + SampledCode::kCodeNs;
  if (may_wait && (!source->knows_name(function) || !source->knows_name(name) || places_.may_come(at))) {
    return false;
  }
  const std::string_view called = producers_.names().text(at.function);
  if (join_.options.sampling.chosen && !join_.options.sampling.chosen(called)) {
    return true;  // the user has not chosen this kernel
  }
  add({.process = source->process(),
       .device = source->device(device),
       .place = places_.place(*source, at),
       .name = source->name(name)},
      waiting.value);
  return true;
}

void InstructionCounts::add(const CountKey& key, uint64_t value) {
  if (profile::index(key.place) == 0 || (new_.size() >= kMaxCounts && !new_.contains(key))) {
    drop();
    return;
  }
  const auto [known, fresh] = new_.try_emplace(key, 0);
  kept_ += fresh ? 1 : 0;
  if (!add_if_it_fits(known->second, value)) {
    drop();
  }
}

void InstructionCounts::drop() {
  join_.counters.add_loss(profile::ProcessId{}, profile::LossReason::details_lost, 1);
}

void InstructionCounts::take_new(Batch& batch) {
  batch.gpu_counts.assign(new_.begin(), new_.end());
  new_.clear();
}

}  // namespace gpuprof::record
