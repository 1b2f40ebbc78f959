#include "backend/drm/stalls/stall_join.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "catch.h"

using namespace gpuprof::backend;
using namespace gpuprof::backend::drm;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kDevice = 3;
constexpr uint32_t kVm = 5;
constexpr uint64_t kBase = 0x200000000;

struct SeenStalls : StallSink {
  void on_kernel(const Job& job, uint64_t start_ns, const std::string& kernel, bool is_alone) override {
    alone.push_back(is_alone);
    kernels.emplace_back(job.correlation, start_ns, kernel);
  }
  void on_stalls(SourceId source, uint32_t /*window*/, const At& at, const StallCounts& counts,
                 bool estimated) override {
    uint64_t sum = 0;
    for (const uint32_t count : counts) {
      sum += count;
    }
    (estimated ? shared : exact)[{source, at.kernel, at.offset}] += sum;
    addresses[at.address] += sum;
  }
  void on_window(SourceId source, const SampleWindow& window) override { windows.emplace_back(source, window); }
  void on_unknown(uint32_t device, uint64_t /*time_ns*/, const StallCounts& counts) override {
    for (const uint32_t count : counts) {
      unknown[device] += count;
    }
  }

  using Places = std::map<std::tuple<SourceId, std::string, uint64_t>, uint64_t>;
  Places exact;
  Places shared;
  std::map<uint32_t, uint64_t> unknown;
  std::map<uint64_t, uint64_t> addresses;
  std::vector<std::tuple<uint64_t, uint64_t, std::string>> kernels;
  std::vector<bool> alone;
  std::vector<std::pair<SourceId, SampleWindow>> windows;
};

// Feeds batches, jobs and samples of a GPU into a StallJoin in the order in which a GPU would report them.
struct Gpu {
  SeenStalls seen;
  StallJoin join{seen};
  uint64_t jobs = 0;

  static gpuprof_drm_batch batch(uint64_t id, const std::vector<uint64_t>& starts, uint64_t file) {
    gpuprof_drm_batch made{};
    made.id = id;
    made.file = file;
    made.vm = kVm;
    made.queue = 1;
    made.base = kBase;
    made.state = GPUPROF_BATCH_ENDED;
    for (const uint64_t start : starts) {
      made.starts[made.count++] = start;
    }
    return made;
  }

  void batch(uint64_t id, const std::vector<uint64_t>& starts) { join.on_batch(batch(id, starts, 77)); }

  // Runs a job in [begin, end) ms. With `end` 0, the job does not end.
  JobKey run(SourceId source, uint64_t batch_id, uint64_t begin, uint64_t end) {
    const JobKey key{1, ++jobs};
    Job job;
    job.source = source;
    job.correlation = jobs;
    job.device = kDevice;
    job.run_ns = begin * kMs;
    job.done_ns = end * kMs;
    gpuprof_drm_submission submission{};
    submission.batch = batch_id;
    join.on_queued(key, job, submission);
    join.on_batch_job(batch_id, key);
    join.on_run(key, begin * kMs);
    if (end != 0) {
      join.on_done(key, end * kMs);
      join.on_job(key, job, begin * kMs);
    }
    return key;
  }

  void sample(uint64_t address, uint8_t count, uint64_t at_ms, uint32_t device = kDevice) {
    StallRecord record;
    record.address = address;
    record.counts[static_cast<size_t>(Stall::sbid)] = count;
    finish_windows(at_ms);
    join.on_record(device, record, at_ms * kMs, at_ms * kMs);  // the stream was empty just before this read
  }

  // Queues and starts a job without reporting its end.
  JobKey start(uint64_t context, uint64_t seqno, uint64_t ring, uint64_t batch_id, uint64_t begin,
               uint32_t kind = GPUPROF_DRM_EXEC_QUEUE) {
    const JobKey key{context, seqno};
    Job job;
    job.source = 7;
    job.correlation = ++jobs;
    job.device = kDevice;
    job.ring = ring;
    gpuprof_drm_submission submission{};
    submission.batch = batch_id;
    submission.kind = kind;
    submission.file = 77;
    join.on_queued(key, job, submission);
    join.on_batch_job(batch_id, key);
    join.on_run(key, begin * kMs);
    return key;
  }

  // Ends a job as Linux's scheduler does if the driver gave no fence.
  void end_at_once(const JobKey& key) {
    join.on_no_fence(key);
    Job named;
    named.source = 7;
    named.correlation = key.seqno;
    named.device = kDevice;
    join.on_untimed(key, named);
  }

  void end_queue(uint64_t file, uint64_t context, uint64_t at_ms) {
    join.on_queue_ended(
        {.type = GPUPROF_DRM_QUEUE_ENDED, .pad = 0, .file = file, .context = context, .time_ns = at_ms * kMs});
  }

  void finish_windows(uint64_t at_ms, bool last = false) { join.finish_windows(at_ms * kMs, 251, last); }
};

}  // namespace

TEST_CASE("a sample belongs to the running batch's kernel with the nearest start below its address") {
  Gpu gpu;
  gpu.batch(10, {0x8000, 0x9000});
  gpu.run(7, 10, 1000, 2000);
  gpu.sample(0x8040, 3, 1500);
  gpu.sample(0x9000, 4, 1500);
  gpu.sample(0x7ff8, 5, 1500);  // an address below all kernels
  gpu.finish_windows(1600);
  CHECK(gpu.seen.exact.empty());  // no location is final, as later events may change it
  gpu.finish_windows(1900);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 3}, {{7, "kernel at 0x9000", 0}, 4}});
  CHECK(gpu.seen.addresses == std::map<uint64_t, uint64_t>{{kBase + 0x8040, 3}, {kBase + 0x9000, 4}});
  CHECK(gpu.seen.unknown.empty());
  gpu.finish_windows(4000);
  CHECK(gpu.seen.unknown == std::map<uint32_t, uint64_t>{{kDevice, 5}});
  CHECK(gpu.join.waiting() == 0);
  REQUIRE(gpu.seen.windows.size() == 1);
  CHECK(gpu.seen.windows[0].second.handed == 7);
  CHECK(gpu.seen.windows[0].second.period == 251);
  CHECK(gpu.seen.windows[0].second.start_ns == 1500 * kMs - StallJoin::kLagNs);
  CHECK(gpu.seen.windows[0].second.end_ns == 1500 * kMs);
}

TEST_CASE("a kernel of an idle batch in between bounds the kernel before it") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.batch(11, {0x8100});
  gpu.run(7, 10, 1000, 2000);
  gpu.run(7, 11, 3000, 4000);  // this job does not run in the sample's window
  gpu.sample(0x8040, 1, 1500);
  gpu.sample(0x8140, 1, 1500);
  gpu.finish_windows(9000, true);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 1}});
  CHECK(gpu.seen.unknown == std::map<uint32_t, uint64_t>{{kDevice, 1}});
}

TEST_CASE("kernels of two processes at one address share samples by their time in the window") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.join.on_batch(Gpu::batch(11, {0x8000}, 88));
  gpu.run(7, 10, 1000, 1485);  // runs in 5 ms of the sample window of 20 ms
  gpu.run(8, 11, 1485, 2000);  // runs in 15 ms of the window
  gpu.sample(0x8008, 200, 1500);
  gpu.finish_windows(2000);
  CHECK(gpu.seen.exact.empty());
  CHECK(gpu.seen.shared == SeenStalls::Places{{{7, "kernel at 0x8000", 8}, 50}, {{8, "kernel at 0x8000", 8}, 150}});
}

TEST_CASE("a job that waits behind another job of its ring gets no samples") {
  Gpu gpu;
  gpu.batch(10, {0x9000});
  gpu.batch(11, {0x8000});
  gpu.join.on_batch(Gpu::batch(12, {0x8000}, 88));
  constexpr uint64_t kRing = 4;
  const JobKey first = gpu.start(2, 1, kRing, 10, 1000);
  const JobKey second = gpu.start(2, 2, kRing, 11, 1001);
  gpu.run(8, 12, 1000, 1600);
  gpu.sample(0x8008, 5, 1500);
  gpu.finish_windows(2000);  // the first job still runs
  CHECK(gpu.seen.exact == SeenStalls::Places{{{8, "kernel at 0x8000", 8}, 5}});

  gpu.run(8, 12, 2000, 2600);
  gpu.sample(0x8008, 5, 2500);
  Job job{.source = 7, .ring = kRing, .device = kDevice};
  gpu.join.on_done(first, 2550 * kMs);
  gpu.join.on_done(second, 2700 * kMs);
  gpu.join.on_job(second, job, 2550 * kMs);  // the second job began after the sample at 2500 ms
  gpu.finish_windows(3000);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{8, "kernel at 0x8000", 8}, 10}});
  CHECK(gpu.seen.shared.empty());
}

TEST_CASE("samples are estimated if the list of a batch's kernels is incomplete") {
  Gpu gpu;
  std::vector<uint64_t> starts;
  for (uint64_t i = 1; i <= GPUPROF_BATCH_KERNELS; ++i) {
    starts.push_back(i * 0x1000);
  }
  gpuprof_drm_batch batch = Gpu::batch(10, starts, 77);
  batch.state = GPUPROF_BATCH_CUT;
  gpu.join.on_batch(batch);
  gpu.run(7, 10, 1000, 2000);
  gpu.sample(0x1008, 3, 1500);
  gpu.finish_windows(3000);
  CHECK(gpu.seen.exact.empty());
  CHECK(gpu.seen.shared == SeenStalls::Places{{{7, "kernel at 0x1000", 8}, 3}});
}

TEST_CASE("samples wait for late batches, and become unknown after a timeout") {
  Gpu gpu;
  gpu.batch(10, {});  // the commands are not written yet
  gpu.run(7, 10, 1000, 1600);
  gpu.sample(0x8040, 3, 1500);
  gpu.finish_windows(2000);
  CHECK(gpu.seen.exact.empty());
  gpu.batch(10, {0x8000});
  gpu.finish_windows(2100);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 3}});
  CHECK(gpu.seen.kernels ==
        std::vector<std::tuple<uint64_t, uint64_t, std::string>>{{1, 1000 * kMs, "kernel at 0x8000"}});

  gpu.batch(11, {});
  gpu.run(7, 11, 5000, 5600);
  gpu.sample(0xa000, 2, 5500);
  gpu.finish_windows(7400);
  CHECK(gpu.seen.unknown.empty());
  gpu.finish_windows(7500);
  CHECK(gpu.seen.unknown == std::map<uint32_t, uint64_t>{{kDevice, 2}});
  gpu.batch(11, {0xa000});  // arrives too late: its samples were reported as unknown
  gpu.finish_windows(7600);
  CHECK(gpu.seen.exact.size() == 1);
}

TEST_CASE("an address that was freed and reused belongs to another kernel") {
  Gpu gpu;
  gpu.batch(10, {0x8000, 0x20000});
  gpu.run(7, 10, 1000, 2000);
  gpu.sample(0x8040, 1, 1500);
  gpu.finish_windows(1900);
  gpuprof_drm_bound bound{};
  bound.file = 77;
  bound.vm = kVm;
  bound.address = kBase + 0x8000;
  bound.bytes = 0x1000;
  gpu.join.on_bound(bound);
  gpu.batch(11, {0x8000, 0x20000});
  gpu.run(7, 11, 3000, 4000);
  gpu.sample(0x8040, 2, 3500);
  gpu.sample(0x20000, 4, 3500);
  gpu.finish_windows(3900);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 1},
                                             {{7, "kernel at 0x8000 (2)", 0x40}, 2},
                                             {{7, "kernel at 0x20000", 0}, 4}});
  bound.vm = kVm + 1;  // a bind in another VM does not replace the kernel in VM kVm
  gpu.join.on_bound(bound);
  gpu.batch(12, {0x8000});
  gpu.run(7, 12, 5000, 6000);
  gpu.sample(0x8040, 8, 5500);
  gpu.finish_windows(5900);
  CHECK(gpu.seen.exact.at({7, "kernel at 0x8000 (2)", 0x40}) == 10);
}

TEST_CASE("a job without an end counts as running") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.run(7, 10, 1000, 0);
  gpu.sample(0x8000, 1, 1500);
  gpu.finish_windows(2000);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000", 0}, 1}});
}

TEST_CASE("samples do not match jobs of another device") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.run(7, 10, 1000, 2000);
  gpu.sample(0x8000, 9, 1500, kDevice + 1);
  gpu.finish_windows(4000);
  CHECK(gpu.seen.exact.empty());
  CHECK(gpu.seen.unknown == std::map<uint32_t, uint64_t>{{kDevice + 1, 9}});
}

TEST_CASE("samples are attributed when their process ends") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.run(7, 10, 1000, 1550);
  gpu.sample(0x8000, 6, 1500);
  gpu.sample(0x4000, 1, 1500);
  gpu.join.flush(1600 * kMs, 251);
  gpu.join.end_source(7, 1000 * kMs);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000", 0}, 6}});
  CHECK(gpu.join.waiting() == 1);
  gpu.finish_windows(4000);
  CHECK(gpu.seen.unknown == std::map<uint32_t, uint64_t>{{kDevice, 1}});
}

TEST_CASE("a batch without a base uses the base of the batch before it on its queue") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  auto second = Gpu::batch(11, {0x9000}, 77);
  second.base = 0;
  gpu.join.on_batch(second);
  gpu.run(7, 11, 1000, 2000);
  gpu.sample(kBase + 0x9008, 1, 1500);  // an absolute address, as GPUs of Xe3p report it
  gpu.finish_windows(2000);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x9000", 8}, 1}});
}

TEST_CASE("kernels have whole addresses after a batch of their queue has switched base addresses off") {
  constexpr uint64_t kHigh = 0x8000'0002'0000;
  Gpu gpu;
  gpu.batch(9, {0x100});
  gpu.run(7, 9, 100, 200);
  gpuprof_drm_batch off = Gpu::batch(10, {0x8000}, 77);
  off.base = GPUPROF_BATCH_NO_BASE;
  gpu.join.on_batch(off);
  gpu.run(7, 10, 1000, 2000);
  gpuprof_drm_batch later = Gpu::batch(11, {0x8000, kHigh}, 77);
  later.base = 0;
  gpu.join.on_batch(later);
  gpu.run(7, 11, 1000, 2000);
  gpu.sample(0x8040, 3, 1500);
  gpu.sample(kHigh + 8, 4, 1500);
  gpu.sample(0xffff'8000'0002'0008, 5, 1500);  // the same address, sign-extended
  gpu.finish_windows(2500);
  CHECK(gpu.seen.exact ==
        SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 3}, {{7, "kernel at 0x800000020000", 8}, 9}});
  CHECK(gpu.seen.addresses == std::map<uint64_t, uint64_t>{{0x8040, 3}, {kHigh + 8, 9}});
  // Other code at a whole address.
  gpu.join.on_bound({.type = 0, .vm = kVm, .file = 77, .address = kHigh, .bytes = 0x1000});
  later.id = 12;
  gpu.join.on_batch(later);
  gpu.run(7, 12, 3000, 4000);
  gpu.sample(kHigh + 8, 6, 3500);
  gpu.finish_windows(4500);
  CHECK(gpu.seen.exact.at({7, "kernel at 0x800000020000 (2)", 8}) == 6);
}

TEST_CASE("samples in the system routine get its name") {
  Gpu gpu;
  gpu.batch(10, {0x1c0 | GPUPROF_BATCH_SYSTEM_ROUTINE});
  gpu.run(7, 10, 1000, 2000);
  gpu.sample(0x1c0, 1, 1500);
  gpu.sample(0x1c8, 1, 1500);
  gpu.finish_windows(2000);
  CHECK(gpu.seen.exact ==
        SeenStalls::Places{{{7, "system routine at 0x1c0", 0}, 1}, {{7, "system routine at 0x1c0", 8}, 1}});
}

TEST_CASE("the number of pending addresses is limited") {
  Gpu gpu;
  for (uint64_t i = 0; i <= StallJoin::kMaxWaiting; ++i) {
    gpu.sample(8 * i, 1, 1500);
  }
  gpu.finish_windows(1600);
  CHECK(gpu.join.waiting() == 0);
  CHECK(gpu.seen.unknown.at(kDevice) == StallJoin::kMaxWaiting + 1);
}

TEST_CASE("invalid counts are ignored") {
  Gpu gpu;
  gpuprof_drm_batch batch = Gpu::batch(10, {0x8000}, 77);
  batch.count = GPUPROF_BATCH_KERNELS + 1;
  gpu.join.on_batch(batch);
  gpu.run(7, 10, 1000, 2000);
  gpu.sample(0x8000, 0, 1500);  // a record with a count of 0
  gpu.finish_windows(4000);
  CHECK(gpu.seen.exact.empty());
  CHECK(gpu.seen.unknown.empty());
}

TEST_CASE("a window begins before the last time that its stream was empty") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.run(7, 10, 1000, 1100);
  gpu.finish_windows(1050);
  gpu.finish_windows(1450);  // the read at 1450 ms did not empty the stream
  StallRecord record;
  record.address = 0x8000;
  record.counts[0] = 1;
  gpu.join.on_record(kDevice, record, 1050 * kMs, 1500 * kMs);
  gpu.finish_windows(2000);
  CHECK(gpu.seen.exact.size() == 1);
  REQUIRE(gpu.seen.windows.size() == 1);
  CHECK(gpu.seen.windows[0].second.start_ns == 1050 * kMs - StallJoin::kLagNs);
}

TEST_CASE("a base that arrives late moves the kernels of its batch") {
  Gpu gpu;
  auto batch = Gpu::batch(10, {0x8000}, 77);
  batch.base = 0;
  gpu.join.on_batch(batch);
  gpu.run(7, 10, 1000, 2000);
  batch.base = kBase;
  batch.starts[batch.count++] = 0x4000;
  gpu.join.on_batch(batch);
  gpu.sample(kBase + 0x4008, 1, 1500);
  gpu.sample(0x8008, 2, 1500);
  gpu.finish_windows(2000);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x4000", 8}, 1}, {{7, "kernel at 0x8000", 8}, 2}});
}

TEST_CASE("kernels of two VMs at one address are two kernels") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  auto other = Gpu::batch(11, {0x8000}, 77);
  other.vm = kVm + 1;
  other.queue = 2;
  gpu.join.on_batch(other);
  gpu.run(7, 10, 1000, 2000);
  gpu.run(7, 11, 3000, 4000);
  gpu.sample(0x8040, 3, 1500);
  gpu.sample(0x8040, 4, 3500);
  gpu.finish_windows(3900);
  CHECK(gpu.seen.exact ==
        SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 3}, {{7, "kernel at 0x8000 in VM 2", 0x40}, 4}});
}

TEST_CASE("samples that are read very late find the jobs that ran then") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.run(7, 10, 1000, 1100);
  StallRecord record;
  record.address = 0x8000;
  record.counts[0] = 1;
  gpu.join.on_record(kDevice, record, 1050 * kMs, 9000 * kMs);
  gpu.finish_windows(9000);
  gpu.finish_windows(9600);
  CHECK(gpu.seen.exact.size() == 1);
}

TEST_CASE("a job without a done event ends when a later job of its fence context does") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.batch(11, {0x8000});
  gpu.batch(12, {0x20000});
  const JobKey lost = gpu.start(5, 1, 1, 10, 1000);
  gpu.join.on_done(gpu.start(5, 2, 1, 12, 1100), 1200 * kMs);
  CHECK(gpu.join.ends_inferred() == 1);
  gpu.run(8, 11, 1300, 1600);
  gpu.sample(0x8000, 3, 1500);
  gpu.finish_windows(1900);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{8, "kernel at 0x8000", 0}, 3}});
  gpu.join.on_done(lost, 1100 * kMs);  // the done event was late
  CHECK(gpu.join.ends_inferred() == 0);
}

TEST_CASE("a job without a done event ends when a job that ran after it on an in-order ring does") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.batch(12, {0x20000});
  gpu.batch(13, {0x20000});
  gpu.start(5, 1, 1, 10, 1000);
  gpu.join.on_done(gpu.start(6, 1, 2, 12, 1100), 1200 * kMs);  // a job on another ring
  CHECK(gpu.join.ends_inferred() == 0);
  gpu.join.on_done(gpu.start(7, 1, 1, 13, 1100), 1200 * kMs);
  CHECK(gpu.join.ends_inferred() == 1);
  gpu.sample(0x8000, 3, 1500);
  gpu.finish_windows(9000, true);
  CHECK(gpu.seen.exact.empty());
}

TEST_CASE("for i915, later jobs on an engine do not imply the end of earlier contexts") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.batch(12, {0x20000});
  gpu.start(5, 1, 1, 10, 1000, GPUPROF_DRM_CONTEXT);
  gpu.join.on_done(gpu.start(7, 1, 1, 12, 1100, GPUPROF_DRM_CONTEXT), 1200 * kMs);
  CHECK(gpu.join.ends_inferred() == 0);
}

TEST_CASE("samples are estimated while a job of the process has kernels that are not known") {
  for (const uint32_t state : {GPUPROF_BATCH_UNKNOWN, GPUPROF_BATCH_UNWRITTEN, GPUPROF_BATCH_CUT}) {
    Gpu gpu;
    gpu.batch(10, {0x8000});
    gpu.run(7, 10, 1000, 2000);
    gpuprof_drm_batch unread = Gpu::batch(11, {}, 77);
    unread.state = state;
    unread.unknown = 0x78ff0000;
    gpu.join.on_batch(unread);
    gpu.run(7, 11, 1000, 2000);
    gpu.sample(0x8040, 3, 1500);
    gpu.finish_windows(5000);
    CHECK(gpu.seen.exact.empty());
    CHECK(gpu.seen.shared == SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 3}});
    const std::map<uint32_t, uint64_t> one{{0x78ff0000, 1}};
    CHECK(gpu.join.unknown_commands() == (state == GPUPROF_BATCH_UNKNOWN ? one : std::map<uint32_t, uint64_t>()));
    unread.state = GPUPROF_BATCH_ENDED;  // the batch is complete when it is read again
    gpu.join.on_batch(unread);
    CHECK(gpu.join.unknown_commands().empty());
  }
}

TEST_CASE("a job without a known end has its samples until its queue begins another job, as estimates") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.batch(11, {0x200000});
  gpu.end_at_once(gpu.start(9, 1, 1, 10, 1000));
  gpu.sample(0x8040, 3, 2000);
  gpu.sample(0x8040, 4, 3000);  // long after the scheduler has ended the job
  CHECK(gpu.seen.kernels.empty());
  gpu.end_at_once(gpu.start(9, 2, 1, 11, 4000));
  // Now the first job has an end, and its launch is known.
  CHECK(gpu.seen.kernels ==
        std::vector<std::tuple<uint64_t, uint64_t, std::string>>{{1, 1000 * kMs, "kernel at 0x8000"}});
  gpu.sample(0x200010, 5, 5000);
  gpu.sample(0x8040, 6, 5000);  // the hardware may still have run the first job
  gpu.finish_windows(9000);
  gpu.join.end_untimed(9000 * kMs);
  CHECK(gpu.seen.exact.empty());
  CHECK(gpu.seen.shared ==
        SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 13}, {{7, "kernel at 0x200000", 0x10}, 5}});
  CHECK(gpu.seen.kernels.size() == 2);
  CHECK(std::none_of(gpu.seen.alone.begin(), gpu.seen.alone.end(), [](bool alone) { return alone; }));
}

TEST_CASE("a job without a known end has no samples long after its exec queue has ended") {
  enum class End { destroyed, destroyed_before_the_end, closed };
  for (const End end : {End::destroyed, End::destroyed_before_the_end, End::closed}) {
    Gpu gpu;
    gpu.batch(10, {0x8000});
    gpu.batch(11, {0x40000});
    gpu.end_at_once(gpu.start(9, 1, 1, 11, 900));  // an earlier job of the queue
    const JobKey key = gpu.start(9, 2, 1, 10, 1000);
    if (end != End::destroyed_before_the_end) {
      gpu.end_at_once(key);
    }
    gpu.end_queue(77, 8, 1100);  // another queue
    gpu.end_queue(76, 0, 1100);  // another file
    CHECK(gpu.seen.kernels.size() == 1);
    gpu.sample(0x8040, 3, 1400);
    gpu.end_queue(77, end == End::closed ? 0 : 9, 2000);
    if (end == End::destroyed_before_the_end) {
      gpu.end_at_once(key);
    }
    CHECK(gpu.seen.kernels.size() == 2);
    gpu.sample(0x8040, 4, 2300);  // the hardware may still have run the job
    gpu.sample(0x8040, 5, 4000);
    gpu.sample(0x40000, 6, 4000);
    gpu.finish_windows(9000);
    CHECK(gpu.seen.exact.empty());
    CHECK(gpu.seen.shared == SeenStalls::Places{{{7, "kernel at 0x8000", 0x40}, 7}});
    CHECK(gpu.seen.unknown.at(kDevice) == 11);
  }
}

TEST_CASE("a driver's own job within a submission does not get the kernels of the batch") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  Job job;
  job.source = 7;
  job.device = kDevice;
  gpuprof_drm_submission submission{};
  submission.batch = 10;
  gpu.join.on_queued({5, 1}, job, submission);
  gpu.join.on_run({5, 1}, 1000 * kMs);
  gpu.start(6, 1, 2, 10, 2000);
  gpu.sample(0x8000, 3, 1500);
  gpu.finish_windows(1900);
  gpu.sample(0x8000, 4, 2500);
  gpu.finish_windows(9000, true);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000", 0}, 4}});
  CHECK(gpu.seen.unknown.at(kDevice) == 3);
}

TEST_CASE("a batch that is reported after its job belongs to that job") {
  Gpu gpu;
  gpu.start(6, 1, 2, 10, 1000);
  gpu.batch(10, {0x8000});
  gpu.sample(0x8000, 4, 1500);
  gpu.finish_windows(1900);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000", 0}, 4}});
}

TEST_CASE("closing a file removes the kernels of all its VMs") {
  Gpu gpu;
  gpu.batch(10, {0x8000});
  gpu.run(7, 10, 1000, 2000);
  gpuprof_drm_bound bound{};
  bound.file = 77;
  bound.vm = GPUPROF_DRM_ALL_VMS;
  bound.bytes = UINT64_MAX;
  gpu.join.on_bound(bound);
  gpu.batch(11, {0x8000});
  gpu.run(7, 11, 3000, 4000);
  gpu.sample(0x8000, 2, 3500);
  gpu.finish_windows(3900);
  CHECK(gpu.seen.exact == SeenStalls::Places{{{7, "kernel at 0x8000 (2)", 0}, 2}});
}

TEST_CASE("a kernel is alone in a job if the batch is known completely and has no other kernel") {
  Gpu gpu;
  gpu.batch(10, {0x1c0 | GPUPROF_BATCH_SYSTEM_ROUTINE, 0x8000});
  gpu.run(7, 10, 1000, 2000);
  gpu.batch(11, {0x8000, 0x9000});
  gpu.run(7, 11, 2000, 3000);
  auto cut = Gpu::batch(12, {0x8000}, 77);
  cut.state = GPUPROF_BATCH_CUT;
  gpu.join.on_batch(cut);
  gpu.run(7, 12, 3000, 4000);
  CHECK(gpu.seen.alone == std::vector<bool>{false, true, false, false, false});
}

TEST_CASE("the base addresses of one VM are limited") {
  Gpu gpu;
  for (uint64_t i = 0; i <= StallJoin::kMaxBases; ++i) {
    gpuprof_drm_batch batch = Gpu::batch(10 + i, {0x8000}, 77);
    batch.base = kBase * (i + 1);
    gpu.join.on_batch(batch);
    gpu.run(7, 10 + i, 1000, 2000);
  }
  CHECK(gpu.join.not_followed() == StallJoin::kMaxBases);
}

TEST_CASE("the kernels of all jobs and of all VMs are limited") {
  const bool jobs_stay = GENERATE(true, false);
  Gpu gpu;
  uint64_t start = 0;
  const auto run_another = [&](uint64_t id) {
    std::vector<uint64_t> starts;
    for (int i = 0; i < GPUPROF_BATCH_KERNELS; ++i) {
      starts.push_back(start += 64);
    }
    gpu.batch(id, starts);
    const JobKey key = gpu.run(7, id, 1000, 2000);
    if (!jobs_stay) {
      gpu.join.forget(key);
    }
  };
  constexpr uint64_t kBatches = StallJoin::kMaxKernels / GPUPROF_BATCH_KERNELS;
  for (uint64_t i = 1; i <= kBatches; ++i) {
    run_another(i);
  }
  CHECK(gpu.join.not_followed() == 0);
  run_another(kBatches + 1);
  CHECK(gpu.join.not_followed() > 0);
  gpu.join.end_source(7, 1000 * kMs);
  const uint64_t before = gpu.join.not_followed();
  run_another(kBatches + 2);
  CHECK(gpu.join.not_followed() == before);
}

TEST_CASE("the work for one window is limited, and samples beyond the limit are unknown") {
  constexpr uint64_t kMany = 1025;
  static_assert(kMany * kMany > StallJoin::kMaxLookups);
  Gpu gpu;
  for (uint64_t i = 1; i <= kMany; ++i) {
    gpu.batch(i, {i * 0x10000});
    gpu.run(7, i, 1000, 2000);
  }
  for (uint64_t i = 1; i <= kMany; ++i) {
    gpu.sample(i * 0x10000, 1, 1500);
  }
  gpu.finish_windows(9000, true);
  CHECK(gpu.seen.exact.size() == StallJoin::kMaxLookups / kMany);
  CHECK(gpu.seen.unknown[kDevice] == kMany - StallJoin::kMaxLookups / kMany);
  CHECK(gpu.join.not_followed() == gpu.seen.unknown[kDevice]);
}

// These jobs and binds would take minutes if each of them looked at all others.
TEST_CASE("the time for a job or bind does not depend on the number of others") {
  constexpr uint64_t kSeconds = 15;
  const uint64_t before = gpuprof::own_cpu_ns();
  Gpu gpu;
  gpu.batch(10, {0x8000});
  std::vector<JobKey> keys;
  for (uint64_t i = 1; i < StallJoin::kMaxJobs; ++i) {
    keys.push_back(gpu.start(1000 + i, 1, 5, 10, i));
  }
  for (const JobKey& key : keys) {
    gpu.join.on_done(key, 1'000'000 * kMs);
  }
  CHECK(gpu.join.ends_inferred() == 0);
  gpu.join.end_source(7, 1000 * kMs);
  for (uint64_t file = 1; file < StallJoin::kMaxSpaces; ++file) {
    gpu.join.on_batch(Gpu::batch(10 + file, {0x8000}, 1000 + file));
    gpu.run(7, 10 + file, 1000, 2000);
  }
  gpuprof_drm_bound bound{};
  bound.vm = kVm;
  bound.file = 1;
  bound.bytes = 1 << 12;
  for (int i = 0; i < 1'000'000; ++i) {
    gpu.join.on_bound(bound);
  }
  CHECK(gpuprof::own_cpu_ns() - before < kSeconds * 1'000'000'000);
}
