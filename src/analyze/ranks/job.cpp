#include "analyze/ranks/job.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <variant>

#include "analyze/merge/recordings.h"
#include "analyze/names/labels.h"
#include "analyze/rows/totals.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

constexpr uint64_t kCollectivesInBlock = 4;
constexpr uint64_t kLeastBlocks = 12;  // finish() does not join blocks if fewer than this number of blocks would remain
constexpr unsigned kPathBits = 28;
constexpr unsigned kBlockBits = 16;

uint64_t key_of(uint64_t rank, uint64_t path, uint64_t block) {
  return (rank << (kPathBits + kBlockBits)) | (path << kBlockBits) | block;
}

void add_cell(RankCell& sum, const RankCell& cell) {
  sum.busy += cell.busy;
  sum.floor += cell.floor;
  sum.collective += cell.collective;
  sum.waits += cell.waits;
  sum.idle += cell.idle;
  sum.collectives += cell.collectives;
  sum.meetings += cell.meetings;
  sum.meetings_ns += cell.meetings_ns;
  sum.longest_gpu = std::max(sum.longest_gpu, cell.longest_gpu);
  sum.longest_wait = std::max(sum.longest_wait, cell.longest_wait);
}

// Sort order: numbers by value, then other names.
bool before(const std::string& a, const std::string& b) {
  const auto left = whole_number(a);
  const auto right = whole_number(b);
  return left && right                           ? std::tie(*left, a) < std::tie(*right, b)
         : left.has_value() != right.has_value() ? left.has_value()
                                                 : a < b;
}

}  // namespace

Job::Job(JobOptions options)
    : options_(std::move(options)), texts_(std::make_shared<WorkPaths>(tables_, options_.stacks)) {
  StackOptions with_lines = options_.stacks;
  with_lines.lines = true;
  lines_ = std::make_shared<WorkPaths>(tables_, with_lines);
}
Job::~Job() = default;

Status Job::take(const p::Record& record) {
  if (auto reason = tables_.add(record)) {
    return Error{"the merged profile is inconsistent: " + *reason, ""};
  }
  if (const auto* meta = std::get_if<p::Meta>(&record)) {
    grid_.take(meta->key, meta->value);
    if (meta->key == "host" && host_.empty()) {
      host_ = meta->value;
    }
    info_.meta.emplace(meta->key, meta->value);
  } else if (const auto* gpu = std::get_if<p::Gpu>(&record)) {
    add(gpu->slice, facts_of(gpu->work, false),
        {.ns = gpu->sum_ns, .count = gpu->count, .min_ns = gpu->min_ns, .max_ns = gpu->max_ns});
  } else if (const auto* host = std::get_if<p::Host>(&record)) {
    has_waits_ = true;
    add(host->slice, facts_of(host->work, false), {.ns = host->sum_ns, .count = host->count, .max_ns = host->max_ns});
  } else if (const auto* idle = std::get_if<p::Idle>(&record)) {
    has_idle_ = has_idle_ || idle->ns > 0;
    if (index(idle->work) != 0) {
      const WorkFacts& facts = facts_of(idle->work, true);
      add(idle->slice, facts, {.ns = idle->ns});
      if (facts.activity == Activity::idle) {
        ranks_[facts.rank].idle_devices.insert(idle->device);
      }
    }
  } else if (const auto* loss = std::get_if<p::Loss>(&record)) {
    lost_ = saturating_add(lost_, loss->count);
    info_.losses.emplace(loss->reason, loss->count);
  } else if (const auto* window = std::get_if<p::Window>(&record)) {
    info_.add(*window);
  } else if (const auto* coverage = std::get_if<p::Coverage>(&record)) {
    (void)add_to(info_.coverage[std::string(coverage->what)], coverage->count);
    info_.add_process_of(*coverage);
  } else if (const auto* launch = std::get_if<p::Launch>(&record)) {
    (void)add_to(info_.launches, launch->count);
  } else if (std::holds_alternative<p::End>(record)) {
    info_.complete = true;
  }
  return {};
}

const Job::WorkFacts& Job::facts_of(p::WorkId id, bool idle) {
  const uint32_t position = tables_.position(id);
  std::vector<WorkFacts>& works = works_[idle ? 1 : 0];
  if (position >= works.size()) {
    works.resize(position + 1);
  }
  if (!works[position].known) {
    works[position] = make_facts(tables_.works()[position], idle);
  }
  return works[position];
}

Job::WorkFacts Job::make_facts(const p::Work& work, bool idle) {
  WorkFacts facts{.known = true};
  const auto rank = rank_of(work);
  if (!rank) {
    return facts;
  }
  facts.rank = *rank;
  facts.activity = activity_of(work);
  if (!idle && p::work_kind(work.op) == p::WorkKind::gpu) {
    devices_.add(work.device, *rank);
    ranks_[*rank].processes.insert(work.process);
  }
  if (idle) {
    facts.activity = facts.activity == Activity::collective_wait ? Activity::nothing : Activity::idle;
  }
  PathKey key = path_key(work, texts_of(facts.activity));
  key.process = {};
  const auto [known, is_new] = path_ids_.try_emplace({facts.activity, key}, static_cast<uint32_t>(paths_.size()));
  if (is_new) {
    paths_.push_back({facts.activity, work.id});
  }
  facts.path = known->second;
  return facts;
}

Activity Job::activity_of(const p::Work& work) {
  switch (p::work_kind(work.op)) {
    case p::WorkKind::gpu:
      return is_collective(work) ? Activity::collective : Activity::compute;
    case p::WorkKind::host:
      if (work.op == p::Op::cpu) {
        return Activity::on_cpu;
      }
      if (work.op == p::Op::off_cpu) {
        return Activity::blocked;
      }
      if (work.op != p::Op::sync) {
        return Activity::other_host;
      }
      return is_collective(work) ? Activity::collective_wait : Activity::wait;
    case p::WorkKind::launch:
      break;
  }
  return Activity::nothing;
}

// True if the pattern matches the work's name, innermost NVTX range or, for CPU waits, a frame of the calling stack.
bool Job::is_collective(const p::Work& work) {
  const Pattern& wanted = options_.collective;
  if (index(work.name) != 0 && wanted.matches(std::string(tables_.text(work.name)))) {
    return true;
  }
  if (const p::Range* range = tables_.range(work.range);
      range != nullptr && wanted.matches(range_label(tables_, *range))) {
    return true;
  }
  if (work.op != p::Op::sync) {
    return false;
  }
  const auto [known, is_new] = collective_stacks_.try_emplace(index(work.ustack), false);
  if (is_new) {
    StackView& view = texts_->view();
    const auto& frames = view.frames(false, work.ustack);
    known->second = std::any_of(frames.begin(), frames.end(),
                                [&](uint32_t frame) { return wanted.matches(std::string(view.name(frame))); });
  }
  return known->second;
}

std::optional<uint32_t> Job::rank_of(const p::Work& work) {
  const p::Process* process = tables_.process(work.process);
  if (process == nullptr) {
    return std::nullopt;
  }
  const std::string host(index(process->host) != 0 ? tables_.text(process->host) : std::string_view(host_));
  std::string name;
  switch (options_.by) {
    case RankBy::rank:
      name = tables_.text(process->rank);
      break;
    case RankBy::pid:
      name = (host.empty() ? "" : host + ":") + std::to_string(process->pid);
      break;
    case RankBy::host:
      name = host;
      break;
  }
  if (name.empty()) {
    return std::nullopt;
  }
  const auto [known, is_new] = rank_ids_.try_emplace(name, static_cast<uint32_t>(ranks_.size()));
  if (is_new) {
    ranks_.push_back({.name = name, .host = host, .cells = {}, .total = {}, .idle_devices = {}, .processes = {}});
  }
  return known->second;
}

uint64_t Job::block_of(uint64_t slice) {
  if (!origin_) {
    origin_ = slice;
  }
  // Moves the origin back by a multiple of the block length, so that the borders of blocks stay where they are.
  if (slice < *origin_) {
    const uint64_t back = (*origin_ - slice + width_ - 1) / width_;
    if (back > kMostBlocks || blocks_ + back > kMostBlocks) {
      // A clock was changed during the job, so the slice is added to block 0, which the search for lags skips.
      return 0;
    }
    origin_ = *origin_ >= back * width_ ? *origin_ - back * width_ : 0;
    std::unordered_map<uint64_t, PathSum> moved;
    for (const auto& [key, sum] : sums_) {
      moved.emplace(key + back, sum);
    }
    sums_ = std::move(moved);
    for (JobRank& rank : ranks_) {
      rank.cells.insert(rank.cells.begin(), back, RankCell());
    }
    blocks_ += back;
  }
  has_long_slices_ = has_long_slices_ || grid().width(slice) > 1;
  while (width_ < grid().width(slice) || (slice - *origin_) / width_ >= kMostBlocks) {
    join_blocks();
  }
  const uint64_t block = (slice - *origin_) / width_;
  blocks_ = std::max(blocks_, block + 1);
  return block;
}

// Joins blocks in pairs. The first time, joins as many as have the length of a long slice, if the job has one. Then no
// border of two blocks is inside of a long slice.
void Job::join_blocks() {
  const bool to_long = width_ == 1 && has_long_slices_;
  const uint64_t blocks = to_long ? grid().long_width : 2;
  const uint64_t before = to_long ? origin_.value_or(0) % blocks : 0;
  const auto place = [&](uint64_t block) { return (block + before) / blocks; };
  std::unordered_map<uint64_t, PathSum> joined;
  constexpr uint64_t kBlockMask = (uint64_t{1} << kBlockBits) - 1;
  for (const auto& [key, sum] : sums_) {
    PathSum& into = joined[(key & ~kBlockMask) | place(key & kBlockMask)];
    into.ns += sum.ns;
    into.count += sum.count;
    into.floor += sum.floor;
  }
  sums_ = std::move(joined);
  for (JobRank& rank : ranks_) {
    std::vector<RankCell> cells(rank.cells.empty() ? 0 : place(rank.cells.size() - 1) + 1);
    for (size_t i = 0; i < rank.cells.size(); ++i) {
      add_cell(cells[place(i)], rank.cells[i]);
    }
    rank.cells = std::move(cells);
  }
  origin_ = origin_.value_or(0) - before;
  width_ *= blocks;
  blocks_ = blocks_ == 0 ? 0 : place(blocks_ - 1) + 1;
}

void Job::add(uint64_t slice, const WorkFacts& facts, const RecordSums& sums) {
  if (facts.activity == Activity::nothing) {
    without_rank_ += sums.count;
    return;
  }
  while (std::max<size_t>(sums_.size(), ranks_.size() * blocks_) >= options_.most_sums && blocks_ >= 2 * kLeastBlocks) {
    join_blocks();
  }
  const uint64_t block = block_of(slice);
  JobRank& rank = ranks_[facts.rank];
  if (rank.cells.size() <= block) {
    rank.cells.resize(block + 1);
  }
  RankCell cell;
  switch (facts.activity) {
    case Activity::compute:
      cell.longest_gpu = sums.max_ns;
      cell.busy = sums.ns;
      cell.floor = sums.count == 0 ? sums.ns : std::min(sums.ns / sums.count, sums.min_ns) * sums.count;
      break;
    case Activity::collective_wait:
      cell.longest_wait = sums.max_ns;
      cell.meetings_ns = sums.ns;
      cell.meetings = sums.count;
      break;
    case Activity::collective:
      cell.longest_gpu = sums.max_ns;
      cell.collective = sums.ns;
      cell.collectives = sums.count;
      collectives_ += sums.count;
      break;
    case Activity::wait:
      cell.longest_wait = sums.max_ns;
      cell.waits = sums.ns;
      break;
    case Activity::idle:
      cell.idle = sums.ns;
      break;
    case Activity::other_host:
    case Activity::on_cpu:
    case Activity::blocked:
    case Activity::nothing:
      break;
  }
  add_cell(rank.cells[block], cell);
  add_cell(rank.total, cell);
  PathSum& sum = sums_[key_of(facts.rank, facts.path, block)];
  sum.ns += sums.ns;
  sum.count += sums.count;
  sum.floor += cell.floor;
}

uint64_t Job::usual_collectives() const {
  std::vector<uint64_t> counts;
  for (const JobRank& rank : ranks_) {
    for (const RankCell& cell : rank.cells) {
      counts.push_back(cell.collectives);
    }
  }
  if (counts.empty()) {
    return 0;
  }
  std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2), counts.end());
  return counts[counts.size() / 2];
}

// If the job has GPU work of collectives, CPU waits in collectives count as other waits: the GPU work already counts
// that time. Otherwise these waits count as collectives.
void Job::assign_collective_waits() {
  const bool on_gpu = collectives_ > 0;
  collectives_on_gpu_ = on_gpu;
  const auto settle = [on_gpu](RankCell& cell) {
    (on_gpu ? cell.waits : cell.collective) += cell.meetings_ns;
    cell.collectives += on_gpu ? 0 : cell.meetings;
  };
  for (JobRank& rank : ranks_) {
    std::for_each(rank.cells.begin(), rank.cells.end(), settle);
    settle(rank.total);
    collectives_ += on_gpu ? 0 : rank.total.meetings;
  }
}

void Job::forget_idle() {
  has_idle_ = false;
  for (JobRank& rank : ranks_) {
    for (RankCell& cell : rank.cells) {
      cell.idle = 0;
    }
    rank.total.idle = 0;
  }
  constexpr uint64_t kPathMask = (uint64_t{1} << kPathBits) - 1;
  std::erase_if(sums_, [&](const auto& entry) {
    return paths_[entry.first >> kBlockBits & kPathMask].activity == Activity::idle;
  });
}

void Job::finish() {
  assign_collective_waits();
  // A recording charges the idle time of a device to the next work, whatever rank that belongs to.
  if (devices_.found() && named_recordings(info_.meta) == 1) {
    forget_idle();
  }
  while (collectives_ > 0 && blocks_ >= 2 * kLeastBlocks && usual_collectives() < kCollectivesInBlock) {
    join_blocks();
  }
  for (JobRank& rank : ranks_) {
    rank.cells.resize(blocks_);
  }
  sort_ranks();
}

void Job::sort_ranks() {
  std::vector<uint32_t> order(ranks_.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return before(ranks_[a].name, ranks_[b].name); });
  std::vector<JobRank> sorted;
  std::vector<uint64_t> place(order.size());
  for (const uint32_t from : order) {
    place[from] = sorted.size();
    sorted.push_back(std::move(ranks_[from]));
  }
  ranks_ = std::move(sorted);
  std::unordered_map<uint64_t, PathSum> moved;
  constexpr uint64_t kRest = (uint64_t{1} << (kPathBits + kBlockBits)) - 1;
  for (const auto& [key, sum] : sums_) {
    moved.emplace((place[key >> (kPathBits + kBlockBits)] << (kPathBits + kBlockBits)) | (key & kRest), sum);
  }
  sums_ = std::move(moved);
}

std::vector<std::unordered_map<uint32_t, PathSum>> Job::sums(uint64_t first, uint64_t last) const {
  std::vector<std::unordered_map<uint32_t, PathSum>> sums(paths_.size());
  constexpr uint64_t kBlockMask = (uint64_t{1} << kBlockBits) - 1;
  constexpr uint64_t kPathMask = (uint64_t{1} << kPathBits) - 1;
  for (const auto& [key, sum] : sums_) {
    if (const uint64_t block = key & kBlockMask; first <= block && block <= last) {
      PathSum& total = sums[(key >> kBlockBits) & kPathMask][static_cast<uint32_t>(key >> (kPathBits + kBlockBits))];
      total.ns += sum.ns;
      total.count += sum.count;
      total.floor += sum.floor;
    }
  }
  return sums;
}

std::string Job::kernel(const JobPath& path) {
  return std::string(texts_->work_label(*tables_.work(path.example)));
}

CallPath Job::call_path(const JobPath& path) {
  const p::Work& work = *tables_.work(path.example);
  return {path_key(work, texts_of(path.activity)), has_lines(path.activity) ? lines_ : texts_};
}

}  // namespace gpuprof::analyze
