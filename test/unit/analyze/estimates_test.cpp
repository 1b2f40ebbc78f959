// Simulates programs whose GPU time is known, and records random windows of them as `record --max-overhead` does.
#include "analyze/rows/estimates.h"

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "analyze/paths/source_lines.h"
#include "analyze/rows/aggregate.h"
#include "analyze/rows/summarize.h"
#include "catch.h"
#include "profile/text_input.h"

using namespace gpuprof;
using namespace gpuprof::analyze;

namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSliceNs = 1000 * kMillisecond;
constexpr size_t kKernels = 4;
using Times = std::array<uint64_t, kKernels>;

struct Launch {
  size_t kernel = 0;
  uint64_t ns = 0;        // GPU time
  uint64_t until_ns = 0;  // time until the next launch
};

// A program: kernel 0 in each step, 1 in one of ten, 2 only in a phase that comes every 0.7 s, 3 hardly ever.
class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {}

  Launch next(uint64_t now) {
    const bool in_phase = now % (700 * kMillisecond) < 150 * kMillisecond;
    const double chance = std::uniform_real_distribution(0.0, 1.0)(random_);
    const size_t kernel = in_phase && chance < 0.5 ? 2 : chance < 0.0002 ? 3 : chance < 0.1 ? 1 : 0;
    const double mean = kernel == 1 ? 90'000 : 20'000;
    return {kernel, 1 + static_cast<uint64_t>(std::exponential_distribution(1 / mean)(random_)),
            in_phase ? 400'000U : 1'000'000U};
  }

 private:
  std::mt19937_64 random_;
};

struct Recording {
  std::string profile;
  Times truth{};
  Times counts{};
};

// Records one of `weight` slots of random length. If there are several weights, each cycle has one of them at random.
Recording record_windows(uint64_t seed, const std::vector<uint64_t>& weights, uint64_t length_ns) {
  Program program(seed);
  std::mt19937_64 random(seed + 1'000'000);
  std::map<std::pair<uint64_t, size_t>, std::pair<uint64_t, uint64_t>>
      rows;                               // key: slice and kernel; value: count and time
  std::map<uint64_t, uint64_t> launches;  // key: slice
  Recording made;
  std::string windows;
  uint64_t represented = 0;
  uint64_t weighted = 0;
  uint64_t cycle_end = 0;
  uint64_t weight = 1;
  uint64_t begin = 0;
  uint64_t end = 0;
  for (uint64_t now = 0; now < length_ns;) {
    if (now >= cycle_end) {
      weight = weights[std::uniform_int_distribution<size_t>(0, weights.size() - 1)(random)];
      const uint64_t slot = std::uniform_int_distribution<uint64_t>(25 * kMillisecond, 75 * kMillisecond)(random);
      begin = cycle_end + slot * std::uniform_int_distribution<uint64_t>(0, weight - 1)(random);
      end = begin + slot;
      cycle_end += slot * weight;
      windows += "WINDOW;" + std::to_string(begin) + ";" + std::to_string(end) + ";" + std::to_string(weight) + "\n";
    }
    const Launch launch = program.next(now);
    ++represented;
    made.truth[launch.kernel] += launch.ns;
    ++made.counts[launch.kernel];
    if (now >= begin && now < end) {
      auto& [count, ns] = rows[{begin / kSliceNs, launch.kernel}];
      count += weight;
      ns += launch.ns * weight;
      launches[begin / kSliceNs] += weight;
      weighted += weight;
      now += launch.until_ns / 4;  // recording slows the program down
    }
    now += launch.until_ns;
  }
  std::string& text = made.profile;
  text =
      "GPUPROF;3.5\nMETA;start_ns;0\nMETA;interval_ns;1000000000\nMETA;budget.max_overhead_percent;2\n"
      "STRING;1;a\nSTRING;2;b\nSTRING;3;c\nSTRING;4;d\nPROCESS;1;7;1;0;1;0;0;0\n"
      "STRING;5;main\nSTRING;6;often\nSTRING;7;seldom\nSTRING;8;app.c\n"
      "FRAME;1;native;5;8;10;0;0;0x1\nFRAME;2;native;6;8;20;0;0;0x2\nFRAME;3;native;7;8;30;0;0;0x3\n"
      "USTACK;1;1;1;2\nUSTACK;2;1;1;3\n";
  for (size_t kernel = 0; kernel < kKernels; ++kernel) {
    const std::string id = std::to_string(kernel + 1);
    text += "WORK;" + id + ";1;0;0;" + std::to_string(1 + kernel / 2) + ";0;0;0;0;0;kernel;" + id + ";0\n";
  }
  for (const auto& [key, row] : rows) {
    text += "GPU;" + std::to_string(key.first) + ";" + std::to_string(key.second + 1) + ";" +
            std::to_string(row.first) + ";" + std::to_string(row.second) + ";0;" + std::to_string(row.second) +
            ";0;0;0\n";
  }
  for (const auto& [slice, count] : launches) {
    text += "WEIGHTED;" + std::to_string(slice) + ";1;" + std::to_string(count) + "\n";
  }
  text += windows + "COVERAGE;1;represented;" + std::to_string(represented) + "\nCOVERAGE;1;weighted;" +
          std::to_string(weighted) + "\n";
  return made;
}

uint64_t distance(uint64_t a, uint64_t b) {
  return a > b ? a - b : b - a;
}

Aggregate rows_of_windows(const std::string& profile) {
  auto reader = test::open_text(profile, false);
  REQUIRE(reader);
  auto rows = aggregate(*reader, {});
  INFO((rows ? std::string() : rows.error().message));
  REQUIRE(rows);
  return std::move(*rows);
}

Summary summary_of_windows(const std::string& profile) {
  return summarize(rows_of_windows(profile));
}

// Returns {time, half the width of its interval} of the function "often", which launches the kernels 0 and 1.
std::pair<uint64_t, uint64_t> often_in(const Summary& summary) {
  for (const FunctionLine& line : summary.functions) {
    if (line.name == "often") {
      const auto margin = line.uncertainty.margin();
      REQUIRE(margin);
      return {line.total.ns, margin->ns};
    }
  }
  FAIL("the function is missing");
  return {};
}

}  // namespace

TEST_CASE("the true times lie in 95% of the intervals") {
  std::array<int, kKernels + 1> right{};  // the last element counts the total
  std::array<int, kKernels + 1> known{};
  int right_counts = 0;
  int right_functions = 0;
  double bias = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    const Recording made =
        record_windows(static_cast<uint64_t>(run), {10 + static_cast<uint64_t>(run) % 20}, (40 + run % 50) * kSliceNs);
    const Aggregate rows = rows_of_windows(made.profile);
    const Summary summary = summarize(rows);
    const auto judge = [&](size_t which, uint64_t truth, uint64_t estimate, const std::optional<Margin>& margin) {
      REQUIRE(margin);
      if (!margin->is_rare) {
        ++known[which];
        right[which] += distance(truth, estimate) <= margin->ns ? 1 : 0;
      }
    };
    uint64_t total = 0;
    for (const SummaryLine& line : summary.work) {
      const auto kernel = static_cast<size_t>(line.work[0] - 'a');
      judge(kernel, made.truth[kernel], line.weight.ns, line.margin);
      if (kernel == 1) {
        right_counts += distance(made.counts[1], line.weight.count) <= line.margin->count ? 1 : 0;
      }
    }
    for (const uint64_t ns : made.truth) {
      total += ns;
    }
    judge(kKernels, total, summary.total.ns, summary.margin);
    const auto [often_ns, often_margin] = often_in(summary);
    right_functions += distance(often_ns, made.truth[0] + made.truth[1]) <= often_margin ? 1 : 0;
    const LaunchingLines lines = launching_lines(rows, {});
    for (const LaunchingLine& line : lines.files.at(0).lines) {
      REQUIRE(line.uncertainty.margin());
      if (line.functions[0] == "often") {
        CHECK(line.total.ns == often_ns);
        CHECK(line.uncertainty.margin()->ns == often_margin);
      }
    }
    bias += static_cast<double>(summary.total.ns) / static_cast<double>(total) - 1;
  }
  CAPTURE(right, known);
  CHECK(std::abs(bias / kRuns) < 0.01);
  int all_right = 0;
  int all_known = 0;
  CHECK(right_counts >= kRuns * 92 / 100);
  CHECK(right_counts <= kRuns * 98 / 100);
  CHECK(right_functions >= kRuns * 92 / 100);
  CHECK(right_functions <= kRuns * 98 / 100);
  CHECK(known[0] == kRuns);
  CHECK(known[1] == kRuns);
  for (const size_t which : {0, 1, 2, 4}) {
    CHECK(known[which] > kRuns / 4);
    CHECK(right[which] >= known[which] * 91 / 100);
    all_right += right[which];
    all_known += known[which];
  }
  CHECK(known[3] < kRuns / 4);  // a kernel in few windows is rare
  CHECK(all_right >= all_known * 93 / 100);
  CHECK(all_right <= all_known * 97 / 100);
}

// As in the first seconds of a recording, when the cost of the windows is hardly known.
TEST_CASE("few windows of different weights give intervals that hold the true time, or none") {
  int known = 0;
  int right = 0;
  int unknown = 0;
  for (int run = 0; run < 300; ++run) {
    const Recording made = record_windows(static_cast<uint64_t>(run), {6, 20, 24, 30, 74}, (8 + run % 20) * kSliceNs);
    const Summary summary = summary_of_windows(made.profile);
    const uint64_t total = std::accumulate(made.truth.begin(), made.truth.end(), uint64_t{0});
    REQUIRE(summary.margin);
    CHECK(summary.margin->is_rare);  // no run has 20 windows
    CHECK(summary.info.margin.empty() == !summary.margin->is_known);
    for (const SummaryLine& line : summary.work) {
      REQUIRE(line.margin);
      CHECK(line.margin->is_rare);
    }
    if (summary.margin->is_known) {
      ++known;
      right += distance(total, summary.total.ns) <= summary.margin->ns ? 1 : 0;
    } else {
      ++unknown;
    }
  }
  CAPTURE(known, right, unknown);
  CHECK(unknown > 0);
  CHECK(known > 150);
  CHECK(right >= known * 94 / 100);
}

// The first window of a recording may have weight 1, and be the only one of a program that ends soon.
TEST_CASE("a window of weight 1 that stands for later launches, too, is no exact measurement") {
  const std::string begin =
      "GPUPROF;3.5\nMETA;start_ns;0\nMETA;interval_ns;100000000\nMETA;budget.max_overhead_percent;2\nSTRING;1;a\n"
      "PROCESS;1;7;1;0;0;0;0;0\nWORK;1;1;0;0;0;0;0;0;0;0;kernel;1;0\nGPU;0;1;100;5000;0;50;0;0;0\n"
      "WEIGHTED;0;1;100\nWINDOW;0;90000000;1\nCOVERAGE;1;weighted;100\nCOVERAGE;1;represented;";
  const Summary all = summary_of_windows(begin + "100\n");
  CHECK_FALSE(all.margin);  // all was recorded
  const Summary part = summary_of_windows(begin + "400\n");
  CHECK(part.total.ns == 20000);
  REQUIRE(part.margin);
  CHECK_FALSE(part.margin->is_known);
  CHECK(part.margin->is_rare);
}

TEST_CASE("extrapolated launches widen the intervals") {
  const std::string profile = record_windows(1, {20}, 60 * kSliceNs).profile;
  const Summary known = summary_of_windows(profile);
  const std::string represented = "COVERAGE;1;represented;";
  const uint64_t launches = std::stoull(profile.substr(profile.find(represented) + represented.size()));
  const Summary guessed =
      summary_of_windows(profile + "COVERAGE;1;extrapolated;" + std::to_string(launches / 5) + "\n");
  REQUIRE(known.margin);
  REQUIRE(guessed.margin);
  const auto of_launches = 0.2 * static_cast<double>(known.total.ns);
  CHECK(std::abs(static_cast<double>(guessed.margin->ns) - std::hypot(known.margin->ns, of_launches)) <
        0.01 * of_launches);
  CHECK(known.margin->count == 0);
  CHECK(std::abs(static_cast<double>(guessed.margin->count) - 0.2 * static_cast<double>(known.total.count)) <
        0.001 * static_cast<double>(known.total.count));
}
