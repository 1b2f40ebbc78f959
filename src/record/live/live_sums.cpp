#include "record/live/live_sums.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "profile/keywords.h"

namespace gpuprof::record {
namespace {

constexpr size_t kMostWorks = 200'000;
constexpr size_t kShown = 64;  // limit on rows, because no terminal shows more

template <typename Map>
std::vector<const typename Map::value_type*> heaviest(const Map& sums) {
  std::vector<const typename Map::value_type*> order;
  order.reserve(sums.size());
  std::transform(sums.begin(), sums.end(), std::back_inserter(order), [](const auto& entry) { return &entry; });
  const auto weighs_more = [](const auto* a, const auto* b) {
    return std::make_pair(a->second.ns, a->second.count) > std::make_pair(b->second.ns, b->second.count);
  };
  const size_t kept = std::min(order.size(), kShown);
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(), weighs_more);
  order.resize(kept);
  return order;
}

// Estimates the memory that tables_ needs for a definition.
template <typename Row>
size_t bytes_of(const Row& /*definition*/) {
  return 2 * sizeof(Row);
}
size_t bytes_of(const profile::String& row) {
  return 2 * sizeof(row) + row.value.size();
}
size_t bytes_of(const profile::Stack& row) {
  return 2 * sizeof(row) + row.elements.size() * sizeof(profile::Element);
}

}  // namespace

bool LiveSums::admits() {
  full_ = full_ || works_.size() >= kMostWorks || MemoryBudget::limits(memory_.get());
  return !full_;
}

void LiveSums::add(const profile::Record& record) {
  std::visit(
      [&](const auto& row) {
        if constexpr (kIsKept<std::decay_t<decltype(row)>>) {
          if (!admits() || tables_.add(record)) {
            // The memory budget is used up, or the record is invalid.
            return;
          }
          if (memory_ != nullptr) {
            memory_->grew(bytes_of(row));
          }
        }
        see(row);
      },
      record);
}

uint32_t LiveSums::number_of(const std::string& text) {
  const auto [entry, made] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  if (made) {
    texts_.push_back(text);
  }
  return entry->second;
}

void LiveSums::see(const profile::Work& work) {
  if (profile::work_kind(work.op) == profile::WorkKind::host) {
    return;
  }
  const std::string_view name = tables_.text(work.name);
  const std::string kernel(name.empty() ? profile::word(work.op) : name);
  works_[profile::index(work.id)] = {number_of(view_.place(tables_, work)), number_of(kernel)};
}

void LiveSums::add_to(profile::WorkId work, uint64_t count, uint64_t ns) {
  const auto found = works_.find(profile::index(work));
  if (found == works_.end()) {
    return;
  }
  for (Sum* const sum : {&kernels_[found->second.second], &paths_[found->second], &all_}) {
    sum->count += count;
    sum->ns += ns;
  }
}

void LiveSums::see(const profile::Share& row) {
  if (const profile::Work* const work = tables_.work(row.work); work != nullptr) {
    devices_[profile::index(work->device)].ns += row.busy_ns;
    has_shares_ = true;
  }
}

void LiveSums::add_heaviest(LiveState& state) {
  for (const auto* const entry : heaviest(kernels_)) {
    const Sum& sum = entry->second;
    state.kernels.push_back({texts_[entry->first], sum.ns, sum.ns - sum.before_ns, sum.count});
  }
  for (const auto* const entry : heaviest(paths_)) {
    const auto& [place, kernel] = entry->first;
    state.paths.push_back({texts_[place], texts_[kernel], entry->second.ns, entry->second.count});
  }
}

void LiveSums::close(uint64_t now_ns, uint64_t swept_ns) {
  if (made_ns_ != 0 && now_ns - made_ns_ < view_.interval_ns()) {
    return;
  }
  LiveState state;
  add_heaviest(state);
  const uint64_t swept = made_swept_ns_ == 0 || swept_ns < made_swept_ns_ ? 0 : swept_ns - made_swept_ns_;
  for (const profile::Device& device : tables_.devices()) {
    const uint32_t id = profile::index(device.id);
    Sum& sum = devices_[id];
    std::optional<double>& busy = busy_[id];
    if (swept > 0 && has_shares_) {  // while no new device time is known, keep the last value
      busy = std::min(1.0, static_cast<double>(sum.ns - sum.before_ns) / static_cast<double>(swept));
      sum.before_ns = sum.ns;
    }
    state.devices.push_back({std::string(tables_.text(device.name)), busy});
  }
  state.gpu_ns = all_.ns;
  state.recent_gpu_ns = all_.ns - all_.before_ns;
  state.count = all_.count;
  for (auto& [kernel, sum] : kernels_) {
    sum.before_ns = sum.ns;
  }
  all_.before_ns = all_.ns;
  made_ns_ = now_ns;
  made_swept_ns_ = swept_ns;
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
}

LiveState LiveSums::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

}  // namespace gpuprof::record
