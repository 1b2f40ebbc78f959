#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <variant>

#include "analyze/ranks/cpu_cause.h"
#include "analyze/ranks/job.h"
#include "analyze/ranks/verdict.h"
#include "catch.h"
#include "profile/reader.h"

using namespace gpuprof;
using namespace gpuprof::analyze;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSteps = 10;  // program steps in a slice, which lasts 100 ms

struct Model {
  size_t ranks = 4;
  uint64_t slices = 40;
  size_t slow = 99;  // the slow rank; by default none is slow
  uint64_t slow_from = 15;
  uint64_t slow_kernel_ms = 20;  // extra time of each slice in relax, compared with the other ranks
  uint64_t slow_cpu_ms = 0;      // extra CPU time before relax, compared with the other ranks
  bool hidden = false;           // the other ranks do not wait for the kernel
  double noise_ms = 0.5;
  double preempted_ms = 0;  // maximum delay of a slice, as on a busy machine; does not change the shortest kernel time
  size_t recordings = 0;    // number of recordings with a META line
  size_t idle_ranks = 99;   // ranks with IDLE lines
  bool waits_too = false;   // the CPU waits for the collective in all_reduce()
  unsigned seed = 1;
  std::vector<uint64_t> first;   // first slice of each rank; if empty, all ranks begin at slice 0
  std::vector<uint64_t> end;     // end slice of each rank, exclusive; if empty, all ranks end at `slices`
  std::vector<uint64_t> offset;  // clock offset of each rank, in slices
};

uint64_t of(const std::vector<uint64_t>& list, size_t rank, uint64_t otherwise) {
  return rank < list.size() ? list[rank] : otherwise;
}

std::string row(const char* kind, uint64_t slice, uint64_t work, double ms, double least_ms) {
  const auto ns = static_cast<uint64_t>(ms * kMs);
  const auto least = static_cast<uint64_t>(std::min(ms, least_ms) * kMs) / kSteps;
  std::string text = std::string(kind) + ";" + std::to_string(slice) + ";" + std::to_string(work) + ";" +
                     std::to_string(kSteps) + ";" + std::to_string(ns) + ";" + std::to_string(least) + ";" +
                     std::to_string(ns) + ";";
  return text + (kind[0] == 'G' ? std::to_string(ns) + ";0;0\n" : "0\n");
}

// Builds a profile. In each slice of a rank, advance and relax take 20 ms each, the CPU 20 ms, collectives the rest.
std::string text_of(const Model& model) {
  std::mt19937 random(model.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> part;
  std::string text =
      "GPUPROF;3.2\nMETA;interval_ns;100000000\nMETA;host;n\nSTRING;1;advance\nSTRING;2;relax\n"
      "STRING;3;ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)\nSTRING;4;opencl\nSTRING;5;"
      "app\n"
      "STRING;6;all_reduce(Rank "
      "const&)\nSTRING;7;cudaStreamSynchronize\nDEVICE;1;4;0;5;0\nFRAME;1;native;6;0;0;5;0;0x1\n"
      "USTACK;1;1\n";
  for (size_t recording = 0; recording < model.recordings; ++recording) {
    text += "META;recording;" + std::string(32, static_cast<char>('0' + recording % 10)) + "\n";
  }
  for (size_t rank = 0; rank < model.ranks; ++rank) {
    const std::string id = std::to_string(rank + 1);
    text += "STRING;" + std::to_string(10 + rank) + ";" + std::to_string(rank) + "\nPROCESS;" + id + ";" + id +
            ";1;1;5;0;" + std::to_string(10 + rank) + ";0\n";
    const uint64_t work = 1 + 4 * rank;
    const std::string process = ";" + id + ";" + id + ";0;0;0;0;0;1;0;kernel;";
    for (uint64_t kernel = 0; kernel < 3; ++kernel) {
      text += "WORK;" + std::to_string(work + kernel) + process + std::to_string(kernel + 1) + ";0\n";
    }
    text += "WORK;" + std::to_string(work + 3) + ";" + id + ";" + id + ";0;1;0;0;0;0;0;sync;7;0\n";
    const uint64_t end = of(model.end, rank, model.slices);
    double excess = 0;  // extra time of several consecutive slices
    for (uint64_t i = of(model.first, rank, 0); i < end; ++i) {
      const bool slow = rank == model.slow && i >= model.slow_from;
      const double relax = 20 + (slow ? static_cast<double>(model.slow_kernel_ms) : 0);
      const double late = slow ? static_cast<double>(model.slow_cpu_ms) : 0;
      excess = part(random) < 0.5 ? excess : model.preempted_ms * std::pow(part(random), 3);
      const double noise = model.noise_ms * normal(random);
      const double own = std::clamp(40 + (model.hidden ? 20 : relax) + late + noise + excess, 0.0, 100.0);
      const uint64_t slice = 10 + i + of(model.offset, rank, 0);
      text += row("GPU", slice, work, 20 + excess / 3, 20);
      text += row("GPU", slice, work + 1, relax + excess / 3, relax);
      text += row("GPU", slice, work + 2, 100 - own, 1);
      if (model.waits_too) {
        text += row("HOST", slice, work + 3, 100 - own, 1);
      }
      if (rank >= model.idle_ranks) {
        continue;
      }
      text += "IDLE;" + std::to_string(slice) + ";1;" + std::to_string(work + 1) + ";" +
              std::to_string(static_cast<uint64_t>((20 + late) * kMs)) + "\n";
    }
  }
  return text;
}

struct Judged {
  explicit Judged(const Model& model)
      : job({.collective = std::move(Pattern::compile("pattern", "nccl|all_reduce").value()),
             .by = RankBy::rank,
             .stacks = {}}) {
    auto reader = profile::Reader::open_text(text_of(model), "p.txt");
    REQUIRE(reader);
    for (;;) {
      auto next = reader->next();
      INFO((next ? std::string() : next.error().message));
      REQUIRE(next);
      if (!next->has_value()) {
        break;
      }
      REQUIRE(job.take(**next));
    }
    job.finish();
    verdict = judge_job(job, {});
  }

  std::string kernel(const Difference& one) { return job.kernel(job.paths()[one.path]); }
  // Returns the beginning of the lag in slices of the model.
  [[nodiscard]] double since(const LaggingRank& one) const {
    return static_cast<double>(job.begin_slice(one.lag.first)) - 10;
  }

  Job job;
  JobVerdict verdict;
};

}  // namespace

TEST_CASE("ranks: blocks consist of complete long slices once the job has one") {
  Job job(
      {.collective = std::move(Pattern::compile("pattern", "all_reduce").value()), .by = RankBy::rank, .stacks = {}});
  const auto take = [&job](const std::string& text) {
    auto reader = profile::Reader::open_text("GPUPROF;3.5\n" + text, "p.txt");
    REQUIRE(reader);
    for (auto next = reader->next(); next && next->has_value(); next = reader->next()) {
      REQUIRE(job.take(**next));
    }
  };
  std::string text =
      "META;long_from_ns;1000\nMETA;long_interval_ns;500\nMETA;interval_ns;100\nSTRING;1;0\nSTRING;2;gemm\n"
      "PROCESS;1;7;1;0;0;0;1;0\nWORK;1;1;7;0;0;0;0;0;0;0;kernel;2;0\n";
  for (const uint64_t slice : {3, 4, 5, 9, 10, 15, 20}) {
    text += "GPU;" + std::to_string(slice) + ";1;1;" + std::to_string(slice) + ";1;100;1;0;0\n";
  }
  take(text);
  job.finish();
  REQUIRE(job.blocks() == 5);
  CHECK(job.begin_slice(0) == 0);
  CHECK(job.block_ns() == 500);
  std::vector<uint64_t> busy;
  for (const RankCell& cell : job.ranks()[0].cells) {
    busy.push_back(cell.busy);
  }
  CHECK(busy == std::vector<uint64_t>{3 + 4, 5 + 9, 10, 15, 20});
}

TEST_CASE("ranks: blocks are joined if a job has too many sums") {
  std::map<size_t, uint64_t> blocks;
  for (const size_t most_sums : {size_t{1000}, size_t{30}}) {
    Job job({.collective = std::move(Pattern::compile("pattern", "all_reduce").value()),
             .by = RankBy::rank,
             .stacks = {},
             .most_sums = most_sums});
    std::string text =
        "GPUPROF;3.5\nMETA;interval_ns;100\nSTRING;1;0\nSTRING;2;gemm\nPROCESS;1;7;1;0;0;0;1;0\n"
        "WORK;1;1;7;0;0;0;0;0;0;0;kernel;2;0\n";
    for (uint64_t slice = 0; slice < 60; ++slice) {
      text += "GPU;" + std::to_string(slice) + ";1;1;9;9;9;81;0;0\n";
    }
    auto reader = profile::Reader::open_text(text, "p.txt");
    REQUIRE(reader);
    for (auto next = reader->next(); next && next->has_value(); next = reader->next()) {
      REQUIRE(job.take(**next));
    }
    job.finish();
    blocks[most_sums] = job.blocks();
    CHECK(job.ranks()[0].total.busy == 60 * 9);
    const auto sums = job.sums(0, job.blocks());
    REQUIRE(sums.size() == 1);
    CHECK(sums[0].at(0).ns == 60 * 9);
  }
  CHECK(blocks == std::map<size_t, uint64_t>{{1000, 60}, {30, 15}});
}

TEST_CASE("ranks: a late rank's function is found below any number of frames") {
  Job job(
      {.collective = std::move(Pattern::compile("pattern", "all_reduce").value()), .by = RankBy::rank, .stacks = {}});
  std::string text =
      "GPUPROF;3.5\nMETA;interval_ns;100\nSTRING;1;0\nSTRING;2;1\nSTRING;3;recurse\nSTRING;4;fetch\nSTRING;5;app\n"
      "PROCESS;1;7;1;0;0;0;1;0\nPROCESS;2;8;1;0;0;0;2;0\nFRAME;1;native;3;0;0;5;0;0x1\nFRAME;2;native;4;0;0;5;0;0x2\n"
      "USTACK;1";
  for (int depth = 0; depth < 60'000; ++depth) {
    text += ";1";
  }
  text +=
      ";2\nWORK;1;1;7;0;1;0;0;0;0;0;cpu;0;0\nWORK;2;2;8;0;1;0;0;0;0;0;cpu;0;0\n"
      "HOST;0;1;1;90;90;90;0\nHOST;0;2;1;10;10;10;0\n";
  auto reader = profile::Reader::open_text(text, "p.txt");
  REQUIRE(reader);
  for (auto next = reader->next();; next = reader->next()) {
    REQUIRE(next);
    if (!next->has_value()) {
      break;
    }
    REQUIRE(job.take(**next));
  }
  job.finish();
  const auto causes = cpu_causes(job, 0, 0, 0);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].function == "fetch");
  CHECK(causes[0].ns == 90);
  CHECK(causes[0].others_ns == 10);
}

TEST_CASE("ranks: the idle time of ranks that share a device in one recording is unknown") {
  Model model;
  model.recordings = 1;
  model.idle_ranks = 1;  // the same rank's work ends all idle times
  const Judged shared(model);
  CHECK(!shared.job.has_idle());
  CHECK(shared.job.ranks()[0].total.idle == 0);
  model.recordings = model.ranks;
  CHECK(Judged(model).job.has_idle());  // each recording knows the idle time of its own rank
}

TEST_CASE("ranks: an even job names no rank") {
  for (size_t ranks = 2; ranks < 7; ++ranks) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const Judged one({.ranks = ranks, .seed = seed});
      INFO(ranks << " ranks, seed " << seed);
      CHECK(one.verdict.inconclusive.empty());
      CHECK(one.verdict.by_collectives);
      CHECK(one.verdict.laggards.empty());
    }
  }
}

TEST_CASE("ranks: a slow kernel is named with its rank, and the other ranks wait in collectives") {
  for (const size_t slow : {0, 1, 3}) {
    Judged one({.slow = slow});
    REQUIRE(one.verdict.laggards.size() == 1);
    const LaggingRank& lag = one.verdict.laggards[0];
    CHECK(lag.lag.rank == slow);
    CHECK(one.since(lag) == 15);
    CHECK(lag.lag.first_earliest <= lag.lag.first);
    CHECK(lag.lag.first <= lag.lag.first_latest);
    CHECK(lag.lag.first_latest - lag.lag.first_earliest <= 2);
    CHECK(lag.lag.last == one.verdict.last);
    CHECK(lag.by_gpu);
    CHECK(lag.lag.waited_for);
    CHECK(lag.collective_share < lag.others_collective_share);
    CHECK(std::abs(lag.lag.effect - 20.0 / 60) < 0.03);
    REQUIRE(lag.kernels.size() == 1);
    CHECK(one.kernel(lag.kernels[0]) == "relax");
    CHECK(lag.kernels[0].ns == 40 * kMs);
    CHECK(lag.kernels[0].others_ns == 20 * kMs);
  }
}

TEST_CASE("ranks: a slow CPU path is distinguished from a slow kernel") {
  Judged one({.slow = 2, .slow_kernel_ms = 0, .slow_cpu_ms = 20});
  REQUIRE(one.verdict.laggards.size() == 1);
  const LaggingRank& lag = one.verdict.laggards[0];
  CHECK(lag.lag.rank == 2);
  CHECK(std::abs(one.since(lag) - 15) <= 1);
  CHECK_FALSE(lag.by_gpu);
  CHECK_FALSE(lag.lag.by_work);
  CHECK(lag.kernels.empty());
  REQUIRE_FALSE(lag.idle.empty());
  CHECK(one.kernel(lag.idle[0]) == "relax");
}

TEST_CASE("ranks: late joins, early deaths and runs of different length are handled") {
  Judged late({.slow = 1, .slow_from = 24, .first = {0, 0, 0, 12}});
  REQUIRE(late.verdict.laggards.size() == 1);
  CHECK(late.verdict.laggards[0].lag.rank == 1);
  CHECK(std::abs(late.since(late.verdict.laggards[0]) - 24) <= 1);

  Judged died({.slow = 1, .slow_from = 10, .end = {40, 40, 26, 40}});
  REQUIRE(died.verdict.laggards.size() == 1);
  CHECK(died.verdict.laggards[0].lag.rank == 1);
  CHECK(died.verdict.last < 26);

  CHECK(Judged({.first = {0, 3, 5, 9}, .end = {40, 36, 31, 40}}).verdict.laggards.empty());
  CHECK_FALSE(Judged({.first = {0, 0, 0, 38}}).verdict.inconclusive.empty());
  CHECK_FALSE(Judged({.first = {0, 0, 0, 30}, .end = {20, 40, 40, 40}}).verdict.inconclusive.empty());
  const std::string apart = "did not run at the same time";
  CHECK(Judged({.first = {0, 0, 0, 30}, .end = {20, 40, 40, 40}}).verdict.inconclusive.find(apart) !=
        std::string::npos);
  CHECK(Judged({.first = {0, 0, 0, 18}, .end = {20, 40, 40, 40}}).verdict.inconclusive.find(apart) ==
        std::string::npos);
}

TEST_CASE("ranks: a single rank is not compared") {
  const Judged one({.ranks = 1, .slow = 0});
  CHECK(one.job.ranks().size() == 1);
  CHECK(one.verdict.laggards.empty());
}

TEST_CASE("ranks: clocks that differ by some slices do not change the verdict") {
  CHECK(Judged({.offset = {0, 2, 1, 3}}).verdict.laggards.empty());
  Judged one({.slow = 1, .offset = {0, 2, 1, 3}});
  REQUIRE(one.verdict.laggards.size() == 1);
  CHECK(one.verdict.laggards[0].lag.rank == 1);
  CHECK(std::abs(one.since(one.verdict.laggards[0]) - 17) <= 1);  // slow_from 15, plus 2 slices of clock offset
}

TEST_CASE("ranks: a collective on the GPU and the CPU's wait for it count once") {
  Judged one({.waits_too = true});
  const RankCell& total = one.job.ranks()[0].total;
  CHECK(total.collectives == 40 * kSteps);
  CHECK(one.job.collectives() == 4 * 40 * kSteps);
  CHECK(total.waits == total.collective);
  CHECK(std::abs(static_cast<double>(total.collective) - 40 * 40.0 * kMs) < 40.0 * kMs);
  CHECK(one.verdict.laggards.empty());
}

TEST_CASE("ranks: additional GPU work that no rank waits for is reported as such") {
  Judged one({.slow = 1, .hidden = true});
  REQUIRE(one.verdict.laggards.size() == 1);
  const LaggingRank& lag = one.verdict.laggards[0];
  CHECK(lag.lag.rank == 1);
  CHECK_FALSE(lag.lag.waited_for);
  CHECK(one.since(lag) == 15);
  CHECK(one.kernel(lag.kernels.at(0)) == "relax");
  // 2 ms are 5% of the GPU work, but only a small share of the time between collectives.
  CHECK(Judged({.slow = 1, .slow_kernel_ms = 2, .hidden = true}).verdict.laggards.empty());
}

TEST_CASE("ranks: an even job on a busy machine rarely names a rank, and never a kernel") {
  size_t named = 0;
  for (size_t ranks = 2; ranks < 7; ++ranks) {
    for (unsigned seed = 0; seed < 40; ++seed) {
      const Judged one({.ranks = ranks, .preempted_ms = 30, .seed = seed});
      named += one.verdict.laggards.empty() ? 0 : 1;
      for (const LaggingRank& lag : one.verdict.laggards) {
        CHECK_FALSE(lag.lag.by_work);
      }
    }
  }
  CHECK(named <= 8);  // a rank is named wrongly in at most 8 of 200 jobs
}

// On a machine with fewer cores than ranks, several slices in sequence are late by up to half of their length.
TEST_CASE("ranks: a slow kernel is found among ranks that wait for a CPU, within the given bounds") {
  size_t found = 0;
  size_t in_bounds = 0;
  constexpr unsigned kRuns = 100;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    Judged one({.slow = seed % 4, .slow_from = 10 + seed % 15, .preempted_ms = 40, .seed = seed});
    if (one.verdict.laggards.size() != 1 || one.verdict.laggards[0].lag.rank != seed % 4) {
      continue;
    }
    const Lag& lag = one.verdict.laggards[0].lag;
    ++found;
    const double began = 10 + seed % 15;
    in_bounds += static_cast<double>(one.job.begin_slice(lag.first_earliest)) - 10 <= began &&
                         began <= static_cast<double>(one.job.begin_slice(lag.first_latest)) - 10
                     ? 1
                     : 0;
  }
  CHECK(found >= 98);
  CHECK(in_bounds >= found - 2);
}
