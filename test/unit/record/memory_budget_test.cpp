
#include "record/memory_budget.h"

#include <memory>

#include "catch.h"
#include "join_rig.h"
#include "record/join/launches/launch_table.h"
#include "record/join/sums/work_set.h"
#include "record/process/name_table.h"

using gpuprof::backend::GpuOp;
using gpuprof::record::Batch;
using gpuprof::record::LaunchTable;
using gpuprof::record::MemoryBudget;
using gpuprof::record::NameTable;
using gpuprof::record::own_memory;
using gpuprof::test::kStack;
using gpuprof::test::Rig;
using gpuprof::test::sum_ns;

namespace {

struct Fake {
  uint64_t used = 0;
  int looks = 0;
  std::shared_ptr<MemoryBudget> budget = std::make_shared<MemoryBudget>([this] {
    ++looks;
    return used;
  });

  void use(uint64_t bytes) {
    used = bytes;
    budget->look();
  }
};

Rig in_process(const Fake& fake) {
  return Rig({.stacks_from_sources = true, .memory = fake.budget});
}

void run(Rig& rig, uint64_t correlation, uint64_t stack, uint32_t name = 1) {
  rig.correlator.on_launch(1, {.correlation = correlation, .stack = stack, .time_ns = 5000, .tid = 5, .thread = "t"});
  GpuOp op = Rig::kernel(correlation);
  op.name_id = name;
  rig.correlator.on_gpu_op(op);
}

}  // namespace

TEST_CASE("the budget is limited, then full, and neither after memory is freed") {
  Fake fake;
  CHECK_FALSE(fake.budget->is_limited());
  CHECK(fake.budget->admit());
  fake.use(MemoryBudget::kLimit);
  CHECK(fake.budget->is_limited());
  CHECK_FALSE(fake.budget->is_full());
  CHECK_FALSE(fake.budget->admit());
  fake.use(MemoryBudget::kFull);
  CHECK(fake.budget->is_full());
  CHECK_FALSE(fake.budget->admit());
  CHECK(fake.budget->left_out() == 2);
  fake.use(MemoryBudget::kLimit - 1);
  CHECK(fake.budget->admit());
  CHECK(fake.budget->left_out() == 2);
}

TEST_CASE("files may be read up to their own limit, even beyond the limit of detail") {
  Fake fake;
  CHECK(fake.budget->room() == MemoryBudget::kReading);
  fake.used = MemoryBudget::kReading - 10;
  CHECK(fake.budget->room() == 10);
  CHECK(fake.budget->is_full());
  fake.used = MemoryBudget::kReading + 10;
  CHECK(fake.budget->room() == 0);
}

TEST_CASE("memory usage is measured after large growth, not on each call") {
  Fake fake;
  for (int i = 0; i < 1000; ++i) {
    fake.budget->grew(MemoryBudget::kLookBytes / 100);
  }
  CHECK(fake.looks >= 9);
  CHECK(fake.looks <= 11);
}

TEST_CASE("what is written about processes has a limit of its own") {
  constexpr size_t kCudaProcess = 5 << 10;
  Fake fake;
  for (int process = 0; process < 20'000; ++process) {  // 10,000 processes with two connections each
    REQUIRE(fake.budget->admit_written(kCudaProcess));
  }
  CHECK(fake.budget->admit_process());
  while (fake.budget->admit_written(kCudaProcess)) {
  }
  CHECK(fake.budget->left_out() == 1);
  CHECK_FALSE(fake.budget->admit_process());
  CHECK(fake.budget->left_out() == 2);
  CHECK(fake.budget->admit());
}

TEST_CASE("own_memory() grows with allocations") {
  const uint64_t before = own_memory();
  if (before == 0) {
    return;  // own_memory() does not work with a sanitizer
  }
  const std::vector<char> much(size_t{64} << 20, 'x');
  const uint64_t after = own_memory();
  CHECK(after >= before + (uint64_t{48} << 20));
  CHECK(after <= before + (uint64_t{96} << 20));
  CHECK(much.back() == 'x');
}

TEST_CASE("at the memory limit known names are kept, and new names share one entry") {
  Fake fake;
  NameTable names(NameTable::kMaxBytes, fake.budget.get());
  const auto known = names.intern("known");
  fake.use(MemoryBudget::kLimit);
  CHECK(names.intern("known") == known);
  CHECK(fake.budget->left_out() == 0);
  const auto other = names.intern("new");
  CHECK(names.text(other) == "[more names]");
  CHECK(names.intern("newer") == other);
  CHECK(fake.budget->left_out() == 2);
}

TEST_CASE("at the memory limit only the latest few launches are kept pending") {
  Fake fake;
  LaunchTable table(fake.budget.get());
  fake.use(MemoryBudget::kLimit);
  constexpr uint64_t kMany = 3 * LaunchTable::kFewEntries;
  for (uint64_t i = 0; i < kMany; ++i) {
    table.insert(1, i, {.time_ns = i});
  }
  CHECK(table.size() <= LaunchTable::kFewEntries + 1);
  CHECK(table.queued() <= 5 * LaunchTable::kFewEntries);
  CHECK(table.find(1, kMany - 1) != nullptr);
}

TEST_CASE("a launch that is repeated without end takes no memory") {
  LaunchTable table;
  for (int i = 0; i < 100'000; ++i) {
    table.insert(1, 7, {.time_ns = 1});
    table.insert(1, 8, {.time_ns = 1, .matched = true, .keep_until_ns = 1'000'000'000'000});
  }
  CHECK(table.size() == 2);
  CHECK(table.queued() < 20'000);
}

TEST_CASE("at full memory, work that was known before is still counted exactly") {
  Fake fake;
  Rig rig = in_process(fake);
  rig.correlator.on_stack(1, {.id = 42, .words = kStack, .flags = 0});
  run(rig, 1, 42);
  rig.iterate(1);
  fake.use(MemoryBudget::kFull);
  run(rig, 2, 42);
  rig.iterate(1);
  Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows[0].second.count == 2);
  CHECK(batch.rows[0].second.sum_ns == 20);
  CHECK(rig.work(batch).stack != 0);
  CHECK(fake.budget->left_out() == 0);
}

TEST_CASE("at the memory limit work with new details has no stack or name, but keeps its time") {
  Fake fake;
  Rig rig = in_process(fake);
  run(rig, 1, 0);
  rig.iterate(1);
  fake.use(MemoryBudget::kLimit);
  rig.correlator.on_name(1, 7, "new kernel");
  rig.correlator.on_stack(1, {.id = 43, .words = kStack, .flags = 0});
  run(rig, 2, 43, 7);
  rig.iterate(1);
  Batch batch = rig.take();
  CHECK(sum_ns(batch) == 20);
  CHECK(batch.stacks.empty());
  REQUIRE(batch.works.size() == 2);
  CHECK(rig.names.at(batch.works[1].key.name) == "[more names]");
  CHECK(batch.works[1].key.stack == 0);
  CHECK(fake.budget->left_out() >= 2);
  CHECK(rig.correlator.totals().gpu_ns == 20);
}

TEST_CASE("work does not wait for a stack that was rejected after its launch arrived") {
  Fake fake;
  Rig rig = in_process(fake);
  rig.correlator.on_launch(1, {.correlation = 1, .stack = 44, .time_ns = 5000, .tid = 5, .thread = "t"});
  fake.use(MemoryBudget::kLimit);
  rig.correlator.on_stack(1, {.id = 44, .words = kStack, .flags = 0});
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.iterate(1);
  CHECK(sum_ns(rig.take()) == 10);
}

TEST_CASE("at full memory all new work is one row, and its sum is exact") {
  Fake fake;
  Rig rig = in_process(fake);
  fake.use(MemoryBudget::kFull);
  for (uint64_t i = 1; i <= 500; ++i) {
    GpuOp op = Rig::kernel(i, 10, 1'000'000 * i);
    op.stream = i;
    op.device = static_cast<uint32_t>(i);
    rig.correlator.on_gpu_op(op);
  }
  rig.iterate(1);
  Batch batch = rig.take();
  CHECK(batch.rows.size() == 1);
  CHECK(sum_ns(batch) == 5000);
}

TEST_CASE("losses of one reason are one line of a batch") {
  Rig rig;
  for (int i = 0; i < 100; ++i) {
    rig.correlator.add_loss({}, gpuprof::profile::LossReason::ring_full, 2);
  }
  Batch batch = rig.take();
  REQUIRE(batch.losses.size() == 1);
  CHECK(batch.losses[0].count == 200);
}
