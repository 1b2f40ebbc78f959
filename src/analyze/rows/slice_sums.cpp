#include "analyze/rows/slice_sums.h"

#include <algorithm>
#include <utility>

#include "analyze/rows/totals.h"

namespace gpuprof::analyze {

// Joins blocks in pairs. The first time, joins as many as have the length of a long slice, so that no border of two
// blocks is inside of a long slice.
void SliceSums::join_blocks() {
  const uint64_t joined = width_ == 1 && grid_.has_long() ? grid_.long_width : 2;
  const uint64_t before = width_ == 1 && grid_.has_long() ? origin_ % joined : 0;
  const auto place = [&](uint64_t block) { return static_cast<size_t>((block + before) / joined); };
  for (auto& [process, blocks] : processes_) {
    std::vector<Weight> sums(blocks.empty() ? 0 : place(blocks.size() - 1) + 1);
    for (size_t i = 0; i < blocks.size(); ++i) {
      sums[place(i)] += blocks[i];
    }
    blocks = std::move(sums);
  }
  longest_ = longest_ == 0 ? 0 : place(longest_ - 1) + 1;
  origin_ -= before;
  width_ *= joined;
}

// Returns the slice's block. Joins blocks until kBlocks blocks include the slices of all processes.
Weight& SliceSums::block_of(profile::ProcessId process, uint64_t slice) {
  std::vector<Weight>& blocks = processes_[process];
  constexpr size_t kLeast = 2;  // limits width_
  const size_t most = std::max(kLeast, kBlocks / processes_.size());
  while (longest_ > most || width_ < grid_.width(slice) || (slice - origin_) / width_ >= most) {
    join_blocks();
  }
  const auto block = static_cast<size_t>((slice - origin_) / width_);
  if (block >= blocks.size()) {
    blocks.resize(block + 1);
  }
  longest_ = std::max(longest_, blocks.size());
  return blocks[block];
}

void SliceSums::scale(const std::function<double(profile::ProcessId)>& factor_of) {
  for (auto& [process, blocks] : processes_) {
    const double factor = index(process) == 0 ? 1 : factor_of(process);
    ScaledParts parts;
    for (Weight& block : blocks) {
      block = parts.next(block, factor);
    }
  }
}

std::vector<Weight> SliceSums::blocks() const {
  std::vector<Weight> sums(longest_);
  for (const auto& [process, blocks] : processes_) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      sums[i] += blocks[i];
    }
  }
  return sums;
}

void TimelineSums::add(uint64_t start_ns, uint64_t end_ns, uint64_t bytes) {
  if (end_ns < start_ns || !add_to(total_, Weight{.ns = end_ns - start_ns, .count = 1, .bytes = bytes}) ||
      end_ns < window_.from_ns || start_ns >= window_.to_ns) {
    return;
  }
  const bool has_ended = end_ns < window_.to_ns;
  start_ns = std::max(start_ns, window_.from_ns) - window_.from_ns;
  end_ns = std::min(end_ns, window_.to_ns) - window_.from_ns;
  while (end_ns / cell_ns_ >= kCells) {
    join_cells();
  }
  const auto first = static_cast<size_t>(start_ns / cell_ns_);
  const auto last = static_cast<size_t>(end_ns / cell_ns_);
  if (last >= cells_.size()) {
    cells_.resize(last + 1);
  }
  cells_[last].weight += {.ns = 0, .count = has_ended ? 1U : 0U, .bytes = has_ended ? bytes : 0};
  if (first == last) {
    cells_[first].weight.ns += end_ns - start_ns;
    return;
  }
  cells_[first].weight.ns += (first + 1) * cell_ns_ - start_ns;
  cells_[last].weight.ns += end_ns - last * cell_ns_;
  ++cells_[first + 1].begun;
  --cells_[last].begun;
}

std::vector<Weight> TimelineSums::cells() const {
  std::vector<Weight> sums;
  uint64_t running = 0;
  for (const Cell& cell : cells_) {
    running += cell.begun;
    sums.push_back(cell.weight);
    sums.back().ns += running * cell_ns_;
  }
  while (!sums.empty() && sums.back().ns == 0 && sums.back().count == 0) {
    sums.pop_back();  // the end of the window
  }
  return sums;
}

void TimelineSums::join_cells() {
  constexpr size_t kJoined = 10;
  const std::vector<Weight> sums = cells();
  cells_.assign((sums.size() + kJoined - 1) / kJoined, Cell());
  for (size_t i = 0; i < sums.size(); ++i) {
    cells_[i / kJoined].weight += sums[i];
  }
  cell_ns_ *= kJoined;
}

}  // namespace gpuprof::analyze
