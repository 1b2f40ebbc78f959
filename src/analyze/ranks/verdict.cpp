#include "analyze/ranks/verdict.h"

#include <algorithm>

#include "analyze/rows/time_window.h"

namespace gpuprof::analyze {
namespace {

constexpr uint64_t kLeastInterval = 10'000'000;  // in ns: shortest `record --interval` that a hint recommends

bool has_work(const RankCell& cell) {
  return cell.busy + cell.collective + cell.waits > 0;
}

// Finds the blocks in which all ranks ran. Skips the first and last block of each rank, which are incomplete. Fails if
// there are fewer than kLeastLag. Then `first` is above `last` + 1 if some ranks ended before others began.
bool common_blocks(const Job& job, uint64_t& first, uint64_t& last) {
  first = 0;
  last = job.blocks();
  for (const JobRank& rank : job.ranks()) {
    const auto begin = std::find_if(rank.cells.begin(), rank.cells.end(), has_work);
    const auto end = std::find_if(rank.cells.rbegin(), rank.cells.rend(), has_work);
    if (begin == rank.cells.end()) {
      return false;
    }
    first = std::max(first, static_cast<uint64_t>(begin - rank.cells.begin()) + 1);
    last = std::min(last, static_cast<uint64_t>(rank.cells.rend() - end) - 1);
  }
  return first + kLeastLag <= last && last-- > 0;
}

uint64_t busy_of(const JobRank& rank, uint64_t first, uint64_t last) {
  uint64_t sum = 0;
  for (uint64_t i = first; i <= last; ++i) {
    sum += rank.cells[i].busy;
  }
  return sum / (last - first + 1);
}

double collective_share(const JobRank& rank, uint64_t first, uint64_t last, uint64_t block_ns) {
  double sum = 0;
  for (uint64_t i = first; i <= last; ++i) {
    sum += static_cast<double>(rank.cells[i].collective);
  }
  return std::min(1.0, sum / (static_cast<double>(block_ns) * static_cast<double>(last - first + 1)));
}

Difference difference_of(const std::unordered_map<uint32_t, PathSum>& sums, size_t ranks, uint32_t rank,
                         double blocks) {
  std::vector<double> ns;
  std::vector<double> counts;
  std::vector<double> floors;
  for (const auto& [other, sum] : sums) {
    if (other != rank) {
      ns.push_back(static_cast<double>(sum.ns) / blocks);
      counts.push_back(static_cast<double>(sum.count) / blocks);
      floors.push_back(static_cast<double>(sum.floor) / blocks);
    }
  }
  ns.resize(ranks - 1);  // ranks that lack this path count as 0
  counts.resize(ranks - 1);
  floors.resize(ranks - 1);
  const PathSum& own = sums.at(rank);
  return {.path = 0,
          .ns = static_cast<uint64_t>(static_cast<double>(own.ns) / blocks),
          .others_ns = static_cast<uint64_t>(median_of(std::move(ns))),
          .floor = static_cast<uint64_t>(static_cast<double>(own.floor) / blocks),
          .others_floor = static_cast<uint64_t>(median_of(std::move(floors))),
          .count = static_cast<double>(own.count) / blocks,
          .others_count = median_of(std::move(counts))};
}

void add_differences(const Job& job, LaggingRank& laggard) {
  const auto rank = static_cast<uint32_t>(laggard.lag.rank);
  const auto blocks = static_cast<double>(laggard.lag.last - laggard.lag.first + 1);
  const auto sums = job.sums(laggard.lag.first, laggard.lag.last);
  for (uint32_t path = 0; path < sums.size(); ++path) {
    if (!sums[path].contains(rank)) {
      continue;
    }
    Difference difference = difference_of(sums[path], job.ranks().size(), rank, blocks);
    difference.path = path;
    if (difference.ns <= difference.others_ns) {
      continue;
    }
    switch (job.paths()[path].activity) {
      case Activity::compute:
        laggard.kernels.push_back(difference);
        break;
      case Activity::idle:
        laggard.idle.push_back(difference);
        break;
      case Activity::wait:
      case Activity::other_host:
        laggard.host.push_back(difference);
        break;
      case Activity::on_cpu:
      case Activity::blocked:  // see cpu_causes()
      case Activity::collective:
      case Activity::collective_wait:
      case Activity::nothing:
        break;
    }
  }
  const auto more = [](const Difference& a, const Difference& b) { return a.ns - a.others_ns > b.ns - b.others_ns; };
  const auto more_at_least = [](const Difference& a, const Difference& b) {  // the excess is 0 if floor < others_floor
    return a.floor - std::min(a.floor, a.others_floor) > b.floor - std::min(b.floor, b.others_floor);
  };
  for (auto* list : {&laggard.kernels, &laggard.idle, &laggard.host}) {
    std::sort(list->begin(), list->end(), more);
    if (list == &laggard.kernels && laggard.lag.by_work) {
      std::stable_sort(list->begin(), list->end(), more_at_least);
    }
    list->resize(std::min(list->size(), kMostDifferences));
  }
}

LaggingRank laggard_of(Job& job, const Lag& lag) {
  LaggingRank laggard{.lag = lag};
  std::vector<double> busy;
  std::vector<double> shares;
  for (size_t other = 0; other < job.ranks().size(); ++other) {
    if (other != lag.rank) {
      busy.push_back(static_cast<double>(busy_of(job.ranks()[other], lag.first, lag.last)));
      shares.push_back(collective_share(job.ranks()[other], lag.first, lag.last, job.block_ns()));
    }
  }
  laggard.gpu_ns = busy_of(job.ranks()[lag.rank], lag.first, lag.last);
  laggard.others_gpu_ns = static_cast<uint64_t>(median_of(std::move(busy)));
  laggard.collective_share = collective_share(job.ranks()[lag.rank], lag.first, lag.last, job.block_ns());
  laggard.others_collective_share = median_of(std::move(shares));
  laggard.by_gpu = lag.by_work || static_cast<double>(laggard.gpu_ns) - static_cast<double>(laggard.others_gpu_ns) >=
                                      (lag.own_ns - lag.others_ns) / 2;
  add_differences(job, laggard);
  laggard.cpu = cpu_causes(job, lag.rank, lag.first, lag.last);
  laggard.cpu.resize(std::min(laggard.cpu.size(), kMostDifferences));
  return laggard;
}

// Returns the time that a rank needs by itself. The profile counts a wait in the block in which it ends, so time beyond
// that block's length goes to earlier blocks.
std::vector<double> own_times(const JobRank& rank, const JobVerdict& verdict, uint64_t block_ns) {
  const auto block = static_cast<double>(block_ns);
  std::vector<double> times;
  double carried = 0;
  for (uint64_t i = rank.cells.size(); i-- > verdict.first;) {
    const RankCell& cell = rank.cells[i];
    const double collective = static_cast<double>(cell.collective) + carried;
    carried = std::max(0.0, collective - block);
    if (i <= verdict.last) {
      times.push_back(verdict.by_collectives ? std::max(0.0, block - collective) : static_cast<double>(cell.busy));
    }
  }
  std::reverse(times.begin(), times.end());
  return times;
}

// Returns GPU work per collective as if each work item had taken the shortest time of its kind in its slice. Delays on
// a busy machine do not change this value, so it reveals a slow kernel that measured times hide.
std::vector<double> work_times(const JobRank& rank, const JobVerdict& verdict) {
  std::vector<double> times;
  for (uint64_t i = verdict.first; i <= verdict.last; ++i) {
    const RankCell& cell = rank.cells[i];
    if (cell.collectives > 0) {
      const double each = static_cast<double>(cell.floor) / static_cast<double>(cell.collectives);
      // Blocks before the first collective get the value of the block with the first collective.
      times.resize(i - verdict.first, each);
      times.push_back(each);
    } else if (!times.empty()) {  // the whole block lies inside one collective, so repeat the last value
      times.push_back(times.back());
    }
  }
  times.resize(verdict.last - verdict.first + 1);
  return times;
}

// True if a lag that was found by GPU work must be reported: if own times show that other ranks wait for this rank, or
// if the excess work is large enough to make them wait. False if this rank waits for others: its kernels then take
// longer because they share the device with the waiting collective.
bool is_lag_of_work(const Job& job, const OwnTimes& own, const JobVerdict& verdict, const LagOptions& options,
                    Lag& lag) {
  const IntervalMedians stretch = interval_medians(own, lag.rank, lag.first, lag.last);
  std::vector<double> collectives;
  for (size_t i = lag.first; i <= lag.last; ++i) {
    collectives.push_back(static_cast<double>(job.ranks()[lag.rank].cells[verdict.first + i].collectives));
  }
  const double too_much = (lag.own_ns - lag.others_ns) * median_of(std::move(collectives));
  lag.by_work = true;
  lag.own_ns = stretch.own_ns;
  lag.others_ns = stretch.others_ns;
  lag.waited_for = stretch.effect >= options.least_effect;
  if (lag.waited_for) {
    lag.effect = stretch.effect;
  }
  const bool waits = stretch.effect <= -options.least_effect;
  return lag.waited_for || (!waits && too_much >= options.least_effect * stretch.others_ns);
}

std::vector<Lag> lags_of(const Job& job, const OwnTimes& own, const OwnTimes& work, const JobVerdict& verdict,
                         const LagOptions& options) {
  std::vector<Lag> lags = find_lags(own, options);
  for (Lag lag : find_lags(work, options)) {
    if (!is_lag_of_work(job, own, verdict, options, lag)) {
      continue;
    }
    const auto known = std::find_if(lags.begin(), lags.end(), [&](const Lag& one) { return one.rank == lag.rank; });
    if (known == lags.end()) {
      lags.push_back(lag);
    } else if (lag.waited_for && lag.score > known->score) {  // GPU work shows the lag more clearly than own times do
      *known = lag;
    }
  }
  sort_by_cost(lags);
  return lags;
}

}  // namespace

JobVerdict judge_job(Job& job, const LagOptions& options) {
  JobVerdict verdict{.by_collectives = job.collectives() > 0};
  if (!common_blocks(job, verdict.first, verdict.last)) {
    if (verdict.first > verdict.last + 1) {
      verdict.inconclusive = "the ranks did not run at the same time: compare other runs with gpuprof diff";
      return verdict;
    }
    verdict.inconclusive = "the ranks have fewer than " + std::to_string(kLeastLag) + " complete slices in common";
    const uint64_t interval_ns = job.grid().interval_ns;
    if (interval_ns > kLeastInterval) {
      verdict.inconclusive += "; for a short job, choose shorter slices: record --interval " +
                              exact_seconds(std::max(kLeastInterval, interval_ns / 10));
    }
    return verdict;
  }
  OwnTimes own;
  OwnTimes work;
  // Work per collective is meaningless for a rank without collectives.
  const bool all_meet = std::all_of(job.ranks().begin(), job.ranks().end(), [&verdict](const JobRank& rank) {
    return std::any_of(rank.cells.begin() + static_cast<std::ptrdiff_t>(verdict.first),
                       rank.cells.begin() + static_cast<std::ptrdiff_t>(verdict.last) + 1,
                       [](const RankCell& cell) { return cell.collectives > 0; });
  });
  for (const JobRank& rank : job.ranks()) {
    own.push_back(own_times(rank, verdict, job.block_ns()));
    if (all_meet) {
      work.push_back(work_times(rank, verdict));
    }
  }
  for (Lag& lag : lags_of(job, own, work, verdict, options)) {
    lag.first_earliest += verdict.first;
    lag.first_latest += verdict.first;
    lag.first += verdict.first;
    lag.last += verdict.first;
    verdict.laggards.push_back(laggard_of(job, lag));
  }
  return verdict;
}

}  // namespace gpuprof::analyze
