#include "ipc/ring.h"

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "catch.h"
#include "fake_recorder.h"
#include "ipc/names.h"
#include "recorded.h"
#include "runtime/launch.h"
#include "runtime/work.h"

using gpuprof::test::FakeRecorder;
using gpuprof::test::op_with;
using gpuprof::test::record_one;
using gpuprof::test::Source;
using gpuprof::test::wait_until_read;
namespace injection = gpuprof::injection;

TEST_CASE("a ring that is read in time loses nothing when it wraps") {
  constexpr uint64_t kOps = 3 * GPUPROF_RING_BYTES / sizeof(gpuprof_gpu_op);
  const Source source = record_one({}, [&] {
    for (uint64_t i = 1; i <= kOps; ++i) {
      injection::gpu_op(op_with(i), true);
      if (i % 8192 == 0) {
        wait_until_read();
      }
    }
    return 0;
  });
  CHECK(source.all_lost() == 0);
  CHECK(source.pads > 0);  // 96-byte records do not fill the ring exactly
  REQUIRE(source.ops.size() == kOps);
  for (uint64_t i = 0; i < kOps; ++i) {
    REQUIRE(source.ops[i].correlation == i + 1);
  }
}

TEST_CASE("records that do not fit are dropped and counted quickly if nothing is read") {
  constexpr uint64_t kRing = GPUPROF_RING_BYTES / sizeof(gpuprof_gpu_op);
  FakeRecorder::Options options;
  options.drain = false;
  bool may_wait = false;
  SECTION("the writer is a launching thread") {}
  SECTION("the recorder is gone") {
    options.beat = false;
    may_wait = true;
  }
  SECTION("the recorder is stuck") {
    may_wait = true;
  }
  // A thread that may wait fills all rings before it waits.
  const uint64_t rings = may_wait ? GPUPROF_RING_COUNT : 1;
  const uint64_t ops = (rings + 1) * kRing;
  const uint64_t begin = injection::now_ns();
  const Source source = record_one(options, [&] {
    for (uint64_t i = 1; i <= ops; ++i) {
      injection::gpu_op(op_with(i), may_wait);
    }
    return 0;
  });
  CHECK(injection::now_ns() - begin < 40000000000ULL);   // if each record had waited, this would take half an hour
  const uint64_t usable = may_wait ? kRing / 2 : kRing;  // the rest is reserved for records that cannot wait
  CHECK(source.ops.size() >= rings * (usable - 1));
  CHECK(source.lost[GPUPROF_LOSS_RING_FULL] > 0);
  CHECK(source.ops.size() + source.lost[GPUPROF_LOSS_RING_FULL] == ops);
}

TEST_CASE("a signal handler does not wait for a ring whose lock the interrupted thread holds") {
  const Source source = record_one({}, [] {
    gpuprof_segment* segment = injection::open_segment();
    injection::ThreadState handler = {};
    handler.in_handler = 1;
    gpuprof_ring& ring = injection::ring_of(segment, handler);
    gpuprof_host_op record = {};
    record.header.type = GPUPROF_RECORD_HOST_OP;
    const auto write = [&] {
      return injection::write_record(segment, handler, &record.header, sizeof(record), nullptr, 0, false);
    };
    uint64_t fastest = UINT64_MAX;  // of several tries, because the thread may be descheduled
    bool written = false;
    injection::store_relaxed(&ring.lock, 1U);
    for (int i = 0; i < 10; ++i) {
      const uint64_t begin = injection::now_ns();
      written = write() || written;
      fastest = std::min(fastest, injection::now_ns() - begin);
    }
    injection::unlock(&ring.lock);
    return !written && fastest < injection::kLockWaitNs / 10 && write() ? 0 : 1;
  });
  CHECK(source.lost[GPUPROF_LOSS_DETAIL] == 10);
}

TEST_CASE("a burst of GPU work leaves space for the records of launches") {
  constexpr uint64_t kOps = GPUPROF_RING_COUNT * GPUPROF_RING_BYTES / sizeof(gpuprof_gpu_op);
  constexpr uint64_t kLaunches = 10000;
  FakeRecorder::Options options;
  options.drain = false;
  options.control |= GPUPROF_CONTROL_LAUNCH_RECORDS;
  const Source source = record_one(options, [] {
    for (uint64_t i = 1; i <= kOps; ++i) {
      injection::gpu_op(op_with(i), true);
    }
    for (uint64_t i = 1; i <= kLaunches; ++i) {
      injection::launch(i);
    }
    return 0;
  });
  CHECK(source.lost[GPUPROF_LOSS_RING_FULL] > 0);
  CHECK(source.launch_records.size() == kLaunches);
  CHECK(source.lost[GPUPROF_LOSS_STACK] == 0);
}

TEST_CASE("a burst of GPU work waits for a busy recorder") {
  constexpr uint64_t kOps = GPUPROF_RING_COUNT * GPUPROF_RING_BYTES / sizeof(gpuprof_gpu_op);
  FakeRecorder::Options options;
  options.drain_from_ns = injection::now_ns() + 400'000'000;
  const Source source = record_one(options, [] {
    for (uint64_t i = 1; i <= kOps; ++i) {
      injection::gpu_op(op_with(i), true);
    }
    return 0;
  });
  CHECK(source.ops.size() == kOps);
  CHECK(source.lost[GPUPROF_LOSS_RING_FULL] == 0);
}

TEST_CASE("a full ring loses whole launches") {
  constexpr uint64_t kParts = 20;
  constexpr uint64_t kLaunches = 2 * GPUPROF_RING_COUNT * GPUPROF_RING_BYTES / sizeof(gpuprof_gpu_op) / kParts;
  FakeRecorder::Options options;
  options.drain_from_ns = injection::now_ns() + 1'500'000'000;  // later than the rings are full, also on a busy machine
  const Source source = record_one(options, [] {
    injection::thread_state().in_backlog = 1;
    // Two streams, whose launches run at the same time.
    for (uint64_t i = 1; i <= kLaunches; i += 2) {
      for (uint64_t part = 0; part < 2 * kParts; ++part) {
        gpuprof_gpu_op op = op_with(i + part % 2);
        op.flags = GPUPROF_GPU_OP_MORE;
        injection::gpu_op(op, true);
      }
    }
    return 0;
  });
  std::map<uint64_t, uint64_t> parts;
  for (const gpuprof_gpu_op& op : source.ops) {
    ++parts[op.correlation];
  }
  CHECK(std::all_of(parts.begin(), parts.end(), [](const auto& launch) { return launch.second == kParts; }));
  CHECK(parts.size() < kLaunches);
  CHECK(source.ops.size() + source.lost[GPUPROF_LOSS_RING_FULL] == kLaunches * kParts);
}

TEST_CASE("a name that could not be sent is not used") {
  FakeRecorder::Options options;
  options.drain = false;
  const Source source = record_one(options, [] {
    for (uint64_t i = 0; i < GPUPROF_RING_BYTES / sizeof(gpuprof_gpu_op) + 1; ++i) {
      injection::gpu_op(op_with(1), false);
    }
    return injection::name_id("too late, and too long for the few bytes that are left in the ring") == 0 ? 0 : 1;
  });
  CHECK(source.names.empty());
}

TEST_CASE("a faulty recorder does not harm the target") {
  FakeRecorder::Options options;
  options.tail = 0x123456789;
  const Source source = record_one(options, [] {
    for (uint64_t i = 1; i <= 1000; ++i) {
      injection::gpu_op(op_with(i), false);
    }
    return 0;
  });
  CHECK(source.lost[GPUPROF_LOSS_RING_FULL] == 1000);
}

TEST_CASE("many threads write without losing order or records") {
  constexpr uint64_t kThreads = 24;  // more than there are rings
  constexpr uint64_t kEach = 5000;
  const Source source = record_one({}, [&] {
    // Sends names before the threads start, so that none is lost: the sum below counts only losses of GPU work.
    for (int i = 0; i < 100; ++i) {
      injection::name_id(("name " + std::to_string(i)).c_str());
    }
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (uint64_t i = 0; i < kEach; ++i) {
          gpuprof_gpu_op op = op_with(t * kEach + i + 1);
          op.stream = t;
          op.name_id = injection::name_id(("name " + std::to_string(i % 100)).c_str());
          injection::launch(op.correlation);
          injection::gpu_op(op, true);
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return 0;
  });
  CHECK(source.launches == kThreads * kEach);
  CHECK(source.names.size() == 100);
  CHECK(source.ops.size() + source.all_lost() == kThreads * kEach);
  CHECK(source.ops.size() > kThreads * kEach / 2);
  std::vector<uint64_t> last(kThreads, 0);
  for (const gpuprof_gpu_op& op : source.ops) {
    REQUIRE(op.correlation > last[op.stream]);
    last[op.stream] = op.correlation;
  }
}
