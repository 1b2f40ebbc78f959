#include "record/join/sums/kernel_times.h"

#include <algorithm>
#include <unordered_map>

namespace gpuprof::record {
namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): `using` cannot follow __extension__

// Runs of one work that start in the same tick are merged. This is precise enough, because samples are read once a
// second.
constexpr uint64_t kTickNs = 10'000'000;
constexpr uint64_t kExpiryNs = 1'000'000'000;
// Limit of one run: 13 days. Sums of runs then fit into 64 bits.
constexpr uint64_t kMostNs = uint64_t{1} << 50;

uint64_t portion(uint64_t ns, uint64_t part, uint64_t whole) {
  return whole == 0 ? ns : static_cast<uint64_t>(Wide{ns} * part / whole);
}

class Gathered {
 public:
  void add(const KernelShare& share) {
    const auto [known, fresh] = places_.emplace(profile::index(share.work), shares_.size());
    if (fresh) {
      shares_.push_back(share);
    } else {
      shares_[known->second].ns = std::min(kMostNs, shares_[known->second].ns + share.ns);
    }
  }
  std::vector<KernelShare> take() { return std::move(shares_); }

 private:
  std::vector<KernelShare> shares_;
  std::unordered_map<uint64_t, size_t> places_;
};

}  // namespace

void KernelTimes::expect(backend::SourceId source, uint64_t correlation) {
  if (launches_.size() < kMaxLaunches && join_.memory().admit()) {
    launches_.try_emplace({source, correlation}, Expected{.since_ns = join_.now_ns, .ran = {}});
    join_.memory().grew(sizeof(decltype(launches_)::value_type) + 4 * sizeof(void*));
  } else {
    join_.memory().leave_out();
  }
}

void KernelTimes::add(const KernelKey& kernel, profile::WorkId work, bool has_stack, uint64_t start_ns, uint64_t end_ns,
                      uint64_t correlation) {
  if (const auto launch = launches_.find({kernel.source, correlation}); launch != launches_.end()) {
    launch->second.since_ns = join_.now_ns;
    launch->second.ran = {.work = work, .ns = 1, .at_ns = start_ns, .has_stack = has_stack};
  }
  Runs& kernel_runs = kernels_[kernel];
  auto& runs = kernel_runs.by_tick;
  const uint64_t ns = std::min(kMostNs, end_ns - start_ns);
  auto run = runs.find({start_ns / kTickNs, work});
  if (run == runs.end() && (count_ < kMaxRuns || runs.empty())) {
    run = runs.emplace(RunKey{start_ns / kTickNs, work}, Run{start_ns, end_ns, 0, has_stack}).first;
    ++count_;
    join_.memory().grew(sizeof(*run) + 4 * sizeof(void*));
  } else if (run == runs.end()) {
    join_.memory().leave_out();
    run = std::prev(runs.end());
  }
  Run& known = run->second;
  known.start_ns = std::min(known.start_ns, start_ns);
  known.end_ns = std::max(known.end_ns, end_ns);
  known.ns = std::min(kMostNs, known.ns + ns);
  kernel_runs.longest_ns = std::max(kernel_runs.longest_ns, known.end_ns - known.start_ns);
}

bool KernelTimes::expects(backend::SourceId source, uint64_t correlation) const {
  return launches_.contains({source, correlation});
}

std::vector<KernelShare> KernelTimes::of_launch(backend::SourceId source, uint64_t correlation) const {
  const auto launch = launches_.find({source, correlation});
  return launch == launches_.end() || launch->second.ran.ns == 0 ? std::vector<KernelShare>()
                                                                 : std::vector{launch->second.ran};
}

std::vector<KernelShare> KernelTimes::within(const KernelKey& kernel, uint64_t start_ns, uint64_t end_ns) const {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) {
    return {};
  }
  const auto& [runs, longest_ns] = found->second;
  Gathered shares;
  for (auto at = runs.lower_bound({(start_ns - std::min(start_ns, longest_ns)) / kTickNs, {}});
       at != runs.end() && at->second.start_ns <= end_ns; ++at) {
    ++join_.compared;
    const auto& [key, run] = *at;
    const uint64_t from = std::max(start_ns, run.start_ns);
    const uint64_t to = std::min(end_ns, run.end_ns);
    if (from < to || (from == to && run.start_ns == run.end_ns)) {
      const uint64_t ns = portion(run.ns, to - from, run.end_ns - run.start_ns);
      shares.add({key.second, std::max<uint64_t>(ns, 1), from + (to - from) / 2, run.has_stack});
    }
  }
  return shares.take();
}

std::vector<KernelShare> KernelTimes::before(const KernelKey& kernel, uint64_t end_ns) const {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) {
    return {};
  }
  const auto& runs = found->second.by_tick;
  auto last = runs.lower_bound({end_ns / kTickNs + 1, {}});
  do {
    if (last == runs.begin()) {
      return {};
    }
    --last;
    ++join_.compared;
  } while (last->second.start_ns >= end_ns);
  const uint64_t tick = last->first.first;
  Gathered shares;
  for (auto run = runs.lower_bound({tick, {}}); run != runs.end() && run->first.first == tick; ++run) {
    ++join_.compared;
    shares.add({run->first.second, std::max<uint64_t>(run->second.ns, 1), run->second.end_ns, run->second.has_stack});
  }
  return shares.take();
}

void KernelTimes::expire() {
  if (join_.now_ns < next_expiry_ns_) {
    return;
  }
  next_expiry_ns_ = join_.now_ns + kExpiryNs;
  count_ = 0;
  for (auto& [kernel, runs] : kernels_) {
    std::erase_if(runs.by_tick, [this](const auto& run) { return run.second.end_ns + kKeepNs < join_.now_ns; });
    count_ += runs.by_tick.size();
  }
  std::erase_if(kernels_, [](const auto& kernel) { return kernel.second.by_tick.empty(); });
  std::erase_if(launches_,
                [this](const auto& launch) { return launch.second.since_ns + kKeepLaunchNs < join_.now_ns; });
}

void KernelTimes::end_source(backend::SourceId source) {
  std::erase_if(kernels_, [&](const auto& kernel) {
    const bool ended = kernel.first.source == source;
    count_ -= ended ? kernel.second.by_tick.size() : 0;
    return ended;
  });
  launches_.erase(launches_.lower_bound({source, 0}), launches_.upper_bound({source, UINT64_MAX}));
}

}  // namespace gpuprof::record
