#include "cupti/probes/block_summary.h"

#include <algorithm>
#include <cstdlib>

#include "wire/log_buckets.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kMaxSms = 1024;  // larger numbers are taken as this one

// A time at which a block or an SM begins or ends its work.
struct Edge {
  uint64_t ns;
  int32_t change;  // 1 or -1
};

// Of edges at the same time, ends come first: the next block takes the place of one that has ended.
bool earlier(const Edge& a, const Edge& b) {
  return a.ns != b.ns ? a.ns < b.ns : a.change < b.change;
}

// Adds when work begins and ends. Work that is shorter than a step of the clock counts as 1 ns.
void add_edges(uint64_t begin_ns, uint64_t end_ns, Edge* edges) {
  edges[0] = {begin_ns, 1};
  edges[1] = {std::max(end_ns, begin_ns + 1), -1};
}

uint32_t most_at_once(const Edge* edges, size_t count) {
  int64_t now = 0;
  int64_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    now += edges[i].change;
    most = std::max(most, now);
  }
  return static_cast<uint32_t>(most);
}

struct Work {
  uint64_t begin_ns;
  uint64_t end_ns;  // 0: the SM has not worked
  uint64_t busy_ns;
};

// Fills `edges` with the times at which SMs begin and end to work: at most 2 for each block. Adds the times up.
size_t find_sm_work(const BlockTimes* blocks, size_t count, Edge* edges, gpuprof_blocks* sum) {
  static_assert(kMaxSms * sizeof(Work) < 32768, "the array lies on the stack of a library thread");
  Work work[kMaxSms] = {};
  size_t found = 0;
  const auto finish = [&](Work& one) {
    one.busy_ns += one.end_ns - one.begin_ns;
    add_edges(one.begin_ns, one.end_ns, edges + found);
    found += 2;
  };
  for (size_t i = 0; i < count; ++i) {
    Work& one = work[std::min(blocks[i].sm, kMaxSms - 1)];
    if (one.end_ns == 0) {
      ++sum->used_sms;
      one.begin_ns = blocks[i].start_ns;
    } else if (blocks[i].start_ns > one.end_ns) {
      finish(one);
      one.begin_ns = blocks[i].start_ns;
    }
    one.end_ns = std::max(one.end_ns, blocks[i].end_ns);
  }
  for (Work& one : work) {
    if (one.end_ns != 0) {
      finish(one);
      sum->busy_ns += one.busy_ns;
      sum->busiest_ns = std::max(sum->busiest_ns, one.busy_ns);
    }
  }
  std::sort(edges, edges + found, earlier);
  return found;
}

// Walks back from the end, as long as less than half of `sms` work.
void find_tail(const Edge* edges, size_t count, gpuprof_blocks* sum) {
  uint64_t working = 0;
  for (size_t i = count; i > 1; --i) {
    working = static_cast<uint64_t>(static_cast<int64_t>(working) - edges[i - 1].change);
    if (working * 2 >= sum->sms) {
      return;
    }
    const uint64_t ns = edges[i - 1].ns - edges[i - 2].ns;
    sum->tail_ns += ns;
    sum->tail_busy_ns += working * ns;
  }
}

size_t count_buckets(const uint32_t* sorted, size_t count, gpuprof_block_bucket* buckets) {
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && sorted[i] == sorted[i - 1]) {
      ++buckets[found - 1].blocks;
    } else {
      buckets[found++] = {sorted[i], 1};
    }
  }
  return found;
}

gpuprof_blocks* with_buckets(const BlockTimes* blocks, size_t count, uint32_t* scratch) {
  for (size_t i = 0; i < count; ++i) {
    scratch[i] = gpuprof_duration_bucket(blocks[i].end_ns - blocks[i].start_ns);
  }
  std::sort(scratch, scratch + count);
  size_t different = 1;
  for (size_t i = 1; i < count; ++i) {
    different += scratch[i] != scratch[i - 1] ? 1 : 0;
  }
  void* memory = calloc(1, sizeof(gpuprof_blocks) + different * sizeof(gpuprof_block_bucket));
  auto* sum = static_cast<gpuprof_blocks*>(memory);
  if (sum != nullptr) {
    sum->count = static_cast<uint32_t>(count_buckets(scratch, count, sum->buckets));
  }
  return sum;
}

}  // namespace

size_t keep_written(BlockTimes* blocks, size_t count, uint64_t grid_id) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const BlockTimes& block = blocks[i];
    if (block.grid == grid_id && block.block == static_cast<uint32_t>(i) && block.start_ns != 0 &&
        block.end_ns >= block.start_ns) {
      blocks[kept++] = block;
    }
  }
  std::sort(blocks, blocks + kept, [](const BlockTimes& a, const BlockTimes& b) { return a.start_ns < b.start_ns; });
  return kept;
}

gpuprof_blocks* summarize_blocks(const BlockTimes* blocks, size_t count, const GridShape& shape) {
  auto* edges = static_cast<Edge*>(malloc(2 * count * sizeof(Edge)));
  gpuprof_blocks* sum = edges == nullptr ? nullptr : with_buckets(blocks, count, reinterpret_cast<uint32_t*>(edges));
  if (sum == nullptr) {
    free(edges);
    return nullptr;
  }
  sum->grid = shape.blocks();
  sum->blocks = count;
  uint64_t end_ns = 0;
  const BlockTimes* slowest = blocks;
  for (size_t i = 0; i < count; ++i) {
    const BlockTimes& block = blocks[i];
    const uint64_t ns = block.end_ns - block.start_ns;
    sum->sum_ns += ns;
    slowest = ns > slowest->end_ns - slowest->start_ns ? &block : slowest;
    end_ns = std::max(end_ns, block.end_ns);
    add_edges(block.start_ns, block.end_ns, edges + 2 * i);
  }
  sum->span_ns = end_ns - blocks[0].start_ns;
  sum->slowest_ns = slowest->end_ns - slowest->start_ns;
  sum->slowest[0] = slowest->block % shape.x;
  sum->slowest[1] = slowest->block / shape.x % shape.y;
  sum->slowest[2] = slowest->block / shape.x / shape.y;
  std::sort(edges, edges + 2 * count, earlier);
  sum->concurrent = most_at_once(edges, 2 * count);
  const size_t changes = find_sm_work(blocks, count, edges, sum);
  sum->sms = most_at_once(edges, changes);
  find_tail(edges, changes, sum);
  sum->tail_ns = std::min(sum->tail_ns, sum->span_ns);
  sum->tail_busy_ns = std::min(sum->tail_busy_ns, sum->busy_ns);
  free(edges);
  return sum;
}

}  // namespace gpuprof::injection::cupti
