#include "record/join/sums/sampled_idle.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <random>
#include <vector>

#include "catch.h"
#include "record/join/sums/occupancy.h"

namespace {

using gpuprof::record::Occupancy;
using gpuprof::record::SampledIdle;
using gpuprof::record::Windows;

constexpr uint64_t kMicro = 1000;
constexpr uint64_t kMilli = 1'000'000;
constexpr uint64_t kPeriod = 10 * kMilli;
constexpr uint64_t kTick = 4 * kMilli;
constexpr uint64_t kShortGap = 50 * kMilli;
constexpr uint32_t kKernelWork = 1;
constexpr uint32_t kFinish = 2;
constexpr uint32_t kNotSampled = 3;
constexpr uint32_t kQueued = 4;
constexpr uint32_t kComputeA = 10;
constexpr uint32_t kComputeB = 11;
constexpr uint32_t kSleeps = 20;
constexpr uint32_t kFutex = 21;

// What a thread does for some time.
struct Part {
  enum class What : uint8_t { on_cpu, blocked, queued, call } what = What::on_cpu;
  uint32_t work = 0;
  uint64_t ns = 0;
  bool device_works = false;
};

// A thread that feeds a device, and what a recorder sees of it: polls at random times, and CPU samples at ticks.
class Program {
 public:
  explicit Program(uint64_t slice_ns = 1000 * kMilli) : occupancy_(windows_, 0, {.interval_ns = slice_ns}, kShortGap) {
    windows_.open(0);
  }

  void run(const Part& part) {
    const uint64_t end = now_ + part.ns;
    const bool on_cpu = part.what == Part::What::on_cpu;
    while (next_poll_ < end) {
      const bool runnable = on_cpu || part.what == Part::What::queued;
      const uint64_t queued = queued_ns_ + (part.what == Part::What::queued ? next_poll_ - now_ : 0);
      if (is_polled_) {
        occupancy_.polled(7, {next_poll_, runnable ? kQueued : part.work, runnable, queued});
      }
      next_poll_ += kPeriod / 2 + random_() % kPeriod;
    }
    if (on_cpu) {
      for (uint64_t tick = (now_ / kTick + 1) * kTick; tick <= end; tick += kTick) {
        if (const uint64_t cpu_ns = cpu_ns_ + tick - now_; cpu_ns - sampled_ns_ >= kPeriod) {
          occupancy_.blocked(7, part.work, tick - (cpu_ns - sampled_ns_), tick, Occupancy::Did::compute);
          sampled_ns_ = cpu_ns;
        }
      }
      cpu_ns_ += part.ns;
    }
    if (part.device_works) {
      occupancy_.add(1, kKernelWork, 7, now_, end, kNotSampled);
    }
    if (part.what == Part::What::call) {
      occupancy_.blocked(7, part.work, now_, end);
    }
    queued_ns_ += part.what == Part::What::queued ? part.ns : 0;
    now_ = end;
  }
  void run(const std::vector<Part>& parts, int times) {
    for (int i = 0; i < times; ++i) {
      for (const Part& part : parts) {
        run(part);
      }
      if (i % 100 == 0) {
        occupancy_.advance(now_ - std::min(now_, 3000 * kMilli));
      }
    }
  }
  void set_polled(bool is_polled) { is_polled_ = is_polled; }
  [[nodiscard]] uint64_t now() const { return now_; }
  [[nodiscard]] SampledIdle::Totals sampled() const { return occupancy_.sampled(); }

  // Ends the recording. Returns the idle ns of each work.
  std::map<uint32_t, uint64_t> finish() {
    windows_.close(now_);
    occupancy_.finish();
    std::map<uint32_t, uint64_t> idle;
    for (const auto& [key, ns] : occupancy_.take_idle()) {
      idle[key.work] += ns;
      slices_[key.slice] += ns;
    }
    return idle;
  }
  [[nodiscard]] const std::map<uint64_t, uint64_t>& slices() const { return slices_; }

 private:
  Windows windows_;
  Occupancy occupancy_;
  std::mt19937_64 random_{20261128};
  uint64_t now_ = 0;
  uint64_t next_poll_ = 3 * kMilli;
  uint64_t cpu_ns_ = 0;
  uint64_t sampled_ns_ = 0;
  uint64_t queued_ns_ = 0;
  bool is_polled_ = true;
  std::map<uint64_t, uint64_t> slices_;
};

Part on_cpu(uint32_t work, uint64_t ns) {
  return {Part::What::on_cpu, work, ns};
}
Part blocked(uint32_t cause, uint64_t ns) {
  return {Part::What::blocked, cause, ns};
}
Part kernel(uint64_t ns) {
  return {Part::What::call, kFinish, ns, true};
}

double share(const std::map<uint32_t, uint64_t>& idle, uint32_t work) {
  uint64_t all = 0;
  for (const auto& [key, ns] : idle) {
    all += ns;
  }
  return idle.contains(work) ? static_cast<double>(idle.at(work)) / static_cast<double>(all) : 0;
}

// A value that equals all values within three points.
struct About {
  double value;
  friend bool operator==(double found, const About& about) { return std::abs(found - about.value) < 0.03; }
  friend std::ostream& operator<<(std::ostream& out, const About& about) { return out << "about " << about.value; }
};

About about(double value) {
  return {value};
}

}  // namespace

TEST_CASE("short gaps between long kernels belong to what the thread computed in them") {
  Program program;
  program.run({on_cpu(kComputeA, 1 * kMilli), kernel(9050 * kMicro)}, 6000);
  const auto idle = program.finish();
  CHECK(share(idle, kComputeA) == about(1));
  CHECK(share(idle, kNotSampled) < 0.01);
  CHECK(program.sampled().polls > 400);
}

TEST_CASE("gaps of a launch-bound program belong to its functions as the program spends its time") {
  Program program;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t gap = 20 * kMicro + random() % (480 * kMicro);
    program.run({on_cpu(kComputeA, gap * 7 / 10), on_cpu(kComputeB, gap - gap * 7 / 10), kernel(10 * kMicro)}, 1);
  }
  const auto idle = program.finish();
  CHECK(share(idle, kComputeA) == about(0.7));
  CHECK(share(idle, kComputeB) == about(0.3));
}

TEST_CASE("gaps in which the thread computes and sleeps belong to both") {
  Program program;
  program.run({on_cpu(kComputeA, 1 * kMilli), blocked(kSleeps, 1 * kMilli), kernel(470 * kMicro)}, 20'000);
  const auto idle = program.finish();
  CHECK(share(idle, kComputeA) == about(0.5));
  CHECK(share(idle, kSleeps) == about(0.5));
}

TEST_CASE("what a thread does while the device is busy does not count in gaps") {
  Program program;
  program.run(
      {kernel(300 * kMicro), on_cpu(kComputeA, 200 * kMicro), blocked(kFutex, 2 * kMilli), kernel(3330 * kMicro)},
      8000);
  const auto idle = program.finish();
  CHECK(share(idle, kFutex) == about(2.0 / 2.2));
  CHECK(share(idle, kComputeA) == about(0.2 / 2.2));
  CHECK(share(idle, kFinish) == 0);
}

TEST_CASE("a thread that waits for a processor in gaps does not compute in all of its runnable time") {
  Program program;
  program.run({on_cpu(kComputeA, 600 * kMicro), {Part::What::queued, kQueued, 400 * kMicro}, kernel(1030 * kMicro)},
              30'000);
  const auto idle = program.finish();
  CHECK(share(idle, kComputeA) == about(0.6));
  CHECK(share(idle, kQueued) == about(0.4));
}

TEST_CASE("waits for a processor while the device is busy are not charged to gaps") {
  Program program;
  const Part waits{Part::What::queued, kQueued, 700 * kMicro, true};
  program.run({on_cpu(kComputeA, 500 * kMicro), blocked(kSleeps, 500 * kMicro), waits, kernel(330 * kMicro)}, 30'000);
  const auto idle = program.finish();
  CHECK(share(idle, kQueued) < 0.04);
  CHECK(share(idle, kSleeps) == about(0.5));
}

TEST_CASE("too few polls explain nothing, and the sums of slices stay exact") {
  Program program(7 * kMilli);
  program.run({on_cpu(kComputeA, 1 * kMilli), blocked(kSleeps, 333), kernel(9 * kMilli)}, 100);
  const uint64_t end = program.now();
  const auto idle = program.finish();
  CHECK(share(idle, kNotSampled) > 0.999);
  uint64_t all = 0;
  for (const auto& [slice, ns] : program.slices()) {
    CHECK(ns <= 7 * kMilli);
    all += ns;
  }
  CHECK(all == 100 * (1 * kMilli + 333));
  CHECK(end > all);
}

TEST_CASE("slices with few polls use those of their neighbors, and each slice keeps its idle time") {
  Program program(100 * kMilli);
  program.run(
      {on_cpu(kComputeA, 777), on_cpu(kComputeB, 1 * kMilli), blocked(kSleeps, 1 * kMilli), kernel(8050 * kMicro)},
      3000);
  const auto idle = program.finish();
  CHECK(share(idle, kNotSampled) < 0.01);
  CHECK(share(idle, kSleeps) == about(0.5));
  uint64_t most = 0;
  uint64_t least = UINT64_MAX;
  for (const auto& [slice, ns] : program.slices()) {
    most = std::max(most, ns);
    least = slice + 1 < program.slices().size() ? std::min(least, ns) : least;
  }
  CHECK(most <= 24 * kMilli);
  CHECK(least >= 16 * kMilli);
}

TEST_CASE("polls of one thread do not explain the gaps of a thread that is not polled") {
  Program program;
  program.run({on_cpu(kComputeA, 1 * kMilli), kernel(1030 * kMicro)}, 2000);
  program.set_polled(false);
  program.run({blocked(kSleeps, 1 * kMilli), kernel(1 * kMilli)}, 2000);
  const auto idle = program.finish();
  CHECK(share(idle, kComputeA) == about(0.5));
  CHECK(share(idle, kNotSampled) == about(0.5));
}

TEST_CASE("polls of a device that is hardly idle are used when enough have come") {
  Program program;
  program.run({on_cpu(kComputeA, 150 * kMicro), kernel(9870 * kMicro)}, 30'000);
  const auto idle = program.finish();
  CHECK(share(idle, kComputeA) > 0.8);
}

TEST_CASE("what an ended process did does not explain the idle time of others") {
  for (const bool has_ended : {false, true}) {
    SampledIdle idle;
    std::map<uint32_t, uint64_t> sums;
    const auto emit = [&](uint64_t /*slice*/, uint32_t work, uint64_t ns) { sums[work] += ns; };
    for (uint64_t poll = 0; poll < SampledIdle::kLeastPolls; ++poll) {
      idle.add_blocked(kSleeps);
      idle.add_blocked(kFutex);
    }
    idle.add_time(0, kNotSampled, 1000);
    idle.settle(true, emit);
    CHECK(sums == std::map<uint32_t, uint64_t>{{kSleeps, 500}, {kFutex, 500}});
    if (has_ended) {
      idle.forget({kSleeps});
    }
    sums.clear();
    idle.add_blocked(kFutex);
    idle.add_time(1, kNotSampled, 1000);
    idle.settle(true, emit);
    CHECK((sums[kSleeps] == 0) == has_ended);
    CHECK(sums[kFutex] + sums[kSleeps] + sums[kNotSampled] == 1000);
    CHECK(sums[kNotSampled] == 0);
  }
}
