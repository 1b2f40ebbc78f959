#include "cupti/probes/block_summary.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "catch.h"
#include "wire/log_buckets.h"

namespace gpuprof::injection::cupti {
namespace {

using Record = std::unique_ptr<gpuprof_blocks, decltype(&std::free)>;

Record summary(std::vector<BlockTimes> blocks, const GridShape& shape, uint64_t grid = 7) {
  const size_t count = keep_written(blocks.data(), blocks.size(), grid);
  return {count == 0 ? nullptr : summarize_blocks(blocks.data(), count, shape), std::free};
}

BlockTimes block(uint32_t number, uint64_t start_ns, uint64_t end_ns, uint32_t sm) {
  return {start_ns, end_ns, sm, number, 7};
}

TEST_CASE("a summary of blocks has their times, SMs and tail") {
  // Two blocks run on each of four SMs at a time: eight of 100 ns, then one of 300 ns.
  std::vector<BlockTimes> blocks;
  for (uint32_t i = 0; i < 8; ++i) {
    blocks.push_back(block(i, 1000, 1100, i % 4));
  }
  blocks.push_back(block(8, 1100, 1400, 2));
  const Record record = summary(blocks, {3, 3, 1});
  REQUIRE(record != nullptr);
  CHECK(record->grid == 9);
  CHECK(record->blocks == 9);
  CHECK(record->span_ns == 400);
  CHECK(record->sum_ns == 1100);
  CHECK(record->slowest_ns == 300);
  CHECK(record->slowest[0] == 2);
  CHECK(record->slowest[1] == 2);
  CHECK(record->slowest[2] == 0);
  CHECK(record->concurrent == 8);
  CHECK(record->sms == 4);
  CHECK(record->used_sms == 4);
  CHECK(record->busy_ns == 3 * 100 + 400);
  CHECK(record->busiest_ns == 400);
  CHECK(record->tail_ns == 300);
  CHECK(record->tail_busy_ns == 300);
  REQUIRE(record->count == 2);
  CHECK(record->buckets[0].bucket == gpuprof_duration_bucket(100));
  CHECK(record->buckets[0].blocks == 8);
  CHECK(record->buckets[1].bucket == gpuprof_duration_bucket(300));
  CHECK(record->buckets[1].blocks == 1);
}

TEST_CASE("a summary leaves out blocks that were not written by its grid") {
  std::vector<BlockTimes> blocks = {block(0, 1000, 1100, 0), block(1, 1000, 1200, 1), {}, block(3, 1000, 1100, 3)};
  blocks[3].grid = 6;    // an earlier launch
  blocks[1].end_ns = 1;  // the clock went back
  const Record record = summary(blocks, {4, 1, 1});
  REQUIRE(record != nullptr);
  CHECK(record->grid == 4);
  CHECK(record->blocks == 1);
  CHECK(summary(blocks, {4, 1, 1}, 8) == nullptr);
}

TEST_CASE("blocks of no length are a summary, too") {
  const Record record = summary({block(0, 1000, 1000, 5), block(1, 1000, 1000, 5)}, {2, 1, 1});
  REQUIRE(record != nullptr);
  CHECK(record->span_ns == 0);
  CHECK(record->sms == 1);
  CHECK(record->concurrent == 2);
  CHECK(record->tail_ns == 0);
}

TEST_CASE("a summary of random blocks equals one that looks at each nanosecond") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const uint32_t count = 1 + random() % 40;
    std::vector<BlockTimes> blocks;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t start = 1000 + random() % 200;
      blocks.push_back(block(i, start, start + 1 + random() % 60, random() % 6));
    }
    const Record record = summary(blocks, {count, 1, 1});
    REQUIRE(record != nullptr);
    uint64_t busy = 0;
    std::vector<uint32_t> working;  // SMs, in each ns
    std::vector<uint64_t> of_sm(6);
    for (uint64_t ns = 1000; ns < 1300; ++ns) {
      std::vector<bool> works(6);
      for (const BlockTimes& one : blocks) {
        works[one.sm] = works[one.sm] || (one.start_ns <= ns && ns < one.end_ns);
      }
      for (size_t sm = 0; sm < 6; ++sm) {
        of_sm[sm] += works[sm] ? 1 : 0;
      }
      working.push_back(static_cast<uint32_t>(std::count(works.begin(), works.end(), true)));
      busy += working.back();
    }
    while (working.back() == 0) {
      working.pop_back();
    }
    CHECK(record->busy_ns == busy);
    CHECK(record->busiest_ns == *std::max_element(of_sm.begin(), of_sm.end()));
    CHECK(record->sms == *std::max_element(working.begin(), working.end()));
    uint64_t tail = 0;
    uint64_t tail_busy = 0;
    for (auto at = working.rbegin(); at != working.rend() && 2 * *at < record->sms; ++at) {
      ++tail;
      tail_busy += *at;
    }
    CHECK(record->tail_ns == tail);
    CHECK(record->tail_busy_ns == tail_busy);
  }
}

}  // namespace
}  // namespace gpuprof::injection::cupti
