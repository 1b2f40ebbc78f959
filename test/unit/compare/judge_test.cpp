#include "compare/judge/judge.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "compare/judge/judge_text.h"

using namespace gpuprof::compare;

namespace {

// Builds a comparison: kernels of 10 ms each, and run-to-run noise that is equal on both sides.
class Sides {
 public:
  Sides(size_t kernels, size_t runs) : runs_(runs) {
    facts_.resize(2 * runs);
    for (size_t run = 0; run < facts_.size(); ++run) {
      facts_[run].file = (run < runs ? "old" : "new") + std::to_string(run % runs) + ".txt";
      facts_[run].info.kind = gpuprof::analyze::ProfileKind::durations;
      facts_[run].info.complete = true;
      facts_[run].devices = {"A GPU"};
      facts_[run].driver = "1.0";
      facts_[run].exit_status = "0";
    }
    comparison.old_runs = runs;
    std::mt19937_64 random(1);
    for (size_t kernel = 0; kernel < kernels; ++kernel) {
      KernelLine line;
      line.name = "kernel_" + std::to_string(kernel);
      for (size_t run = 0; run < 2 * runs; ++run) {
        const auto wobble = static_cast<uint64_t>(random() % 100'001);  // up to 1% of 10 ms
        line.costs.push_back({.ns = 10'000'000 + wobble, .count = 10});
      }
      comparison.kernels.push_back(std::move(line));
    }
  }

  // Slows down one kernel, or all kernels, in the new runs.
  void slow_down(size_t kernel, double factor) {
    for (size_t run = runs_; run < 2 * runs_; ++run) {
      Cost& cost = comparison.kernels[kernel].costs[run];
      cost.ns = static_cast<uint64_t>(static_cast<double>(cost.ns) * factor);
    }
  }
  void slow_down_all(double factor) {
    for (size_t kernel = 0; kernel < comparison.kernels.size(); ++kernel) {
      slow_down(kernel, factor);
    }
  }
  void add_path(uint32_t kernel, const std::string& function, std::vector<Cost> costs, Change change = Change::both) {
    FunctionLine line;
    line.name = function;
    comparison.functions.push_back(line);
    PathLine path;
    path.kernel = kernel;
    path.functions = {static_cast<uint32_t>(comparison.functions.size() - 1)};
    path.change = change;
    path.costs = std::move(costs);
    comparison.paths.push_back(std::move(path));
  }
  RunFacts& facts(size_t run) { return facts_[run]; }

  Judgement judged(const JudgeOptions& options = {}) {
    comparison.runs.clear();
    comparison.totals.assign(facts_.size(), {});
    for (size_t run = 0; run < facts_.size(); ++run) {
      comparison.runs.push_back(&facts_[run]);
      for (const KernelLine& kernel : comparison.kernels) {
        comparison.totals[run] += kernel.costs[run];
      }
    }
    return judge(comparison, options);
  }

  Comparison comparison;

 private:
  size_t runs_;
  std::vector<RunFacts> facts_;
};

const Finding* of_kernel(const Judgement& judgement, uint32_t kernel) {
  const auto found = std::find_if(judgement.findings.begin(), judgement.findings.end(), [&](const Finding& finding) {
    return finding.what == Finding::What::kernel && finding.line == kernel;
  });
  return found == judgement.findings.end() ? nullptr : &*found;
}

std::string reasons_of(const Judgement& judgement) {
  std::string text;
  for (const std::string& reason : judgement.reasons) {
    text += reason + "\n";
  }
  return text;
}

JudgeOptions with_thresholds(std::string_view text) {
  JudgeOptions options;
  std::vector<std::string> expired;
  auto parsed = parse_thresholds(text, "gate.txt", "2026-11-23", expired);
  REQUIRE(parsed);
  options.thresholds = std::move(parsed).value();
  return options;
}

}  // namespace

TEST_CASE("unchanged runs pass") {
  Sides sides(30, 5);
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::pass);
  CHECK(reasons_of(judgement).empty());
  CHECK(judgement.factor_removed);
  CHECK(judgement.moderated);
  CHECK(judgement.noise_percent > 0.2);
  CHECK(judgement.noise_percent < 0.5);  // uniform noise of 1% has the standard deviation 1% / sqrt(12)
  CHECK(judgement.minimum_detectable_percent > 0.2);
  CHECK(judgement.minimum_detectable_percent < 2);
  REQUIRE(judgement.findings.size() == 31);
  CHECK(judgement.findings.front().what == Finding::What::total);
  CHECK_FALSE(judgement.findings.front().permutation_p);
}

TEST_CASE("one slower kernel of many is a regression") {
  Sides sides(30, 5);
  sides.slow_down(7, 1.1);
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::regression);
  REQUIRE(judgement.findings.size() == 31);
  CHECK(judgement.findings[1].line == 7);  // finding 0 is the total; the worst kernel comes next
  CHECK(judgement.findings[1].verdict == Verdict::slower);
  CHECK(std::abs(judgement.findings[1].change_percent - 10) < 1);
  CHECK(judgement.findings[1].low_percent < judgement.findings[1].change_percent);
  CHECK(judgement.findings[1].high_percent > judgement.findings[1].change_percent);
  CHECK(judgement.findings[1].adjusted_p < 0.001);
  CHECK(judgement.findings[0].verdict != Verdict::slower);  // the total grew by only 0.3%
  CHECK(of_kernel(judgement, 8)->verdict == Verdict::same);
}

TEST_CASE("a difference below the thresholds passes") {
  Sides small(30, 5);
  small.slow_down(7, 1.018);
  CHECK(of_kernel(small.judged(), 7)->verdict == Verdict::too_small);
  CHECK(small.judged().outcome == Outcome::pass);

  // A slowdown of 10% does not matter in a kernel that has 0.5% of all GPU time.
  Sides light(30, 5);
  for (Cost& cost : light.comparison.kernels[7].costs) {
    cost.ns /= 7;
  }
  light.slow_down(7, 1.1);
  CHECK(of_kernel(light.judged(), 7)->verdict == Verdict::too_small);

  JudgeOptions strict;
  strict.share_percent = 0.01;
  CHECK(of_kernel(light.judged(strict), 7)->verdict == Verdict::slower);
}

TEST_CASE("a common slowdown of all kernels is a finding of the total") {
  Sides sides(30, 5);
  sides.slow_down_all(1.05);
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::regression);
  CHECK(judgement.findings.front().verdict == Verdict::slower);
  CHECK(std::abs(judgement.factor_percent - 5) < 0.5);
  CHECK(of_kernel(judgement, 3)->verdict == Verdict::same);
}

TEST_CASE("a slowdown of most kernels does not pass if the runs vary by as much") {
  const std::vector<double> common{0.95, 1.06, 0.99, 1.04, 0.96, 1.05, 0.97, 1.02, 0.94, 1.03};
  const auto made = [&common](size_t slower, double factor) {
    Sides sides(12, 5);
    for (size_t kernel = 0; kernel < slower; ++kernel) {
      sides.slow_down(kernel, factor);
    }
    for (KernelLine& kernel : sides.comparison.kernels) {
      for (size_t run = 0; run < 10; ++run) {
        kernel.costs[run].ns = static_cast<uint64_t>(static_cast<double>(kernel.costs[run].ns) * common[run]);
      }
    }
    return sides;
  };
  Sides most = made(7, 1.1);
  CHECK(most.judged().outcome == Outcome::inconclusive);
  CHECK(reasons_of(most.judged()).find("most kernels may be slower: the common change of 12 kernels is +") == 0);
  CHECK(reasons_of(most.judged()).find("and 5 of them did not change with the others") != std::string::npos);
  CHECK(most.judged(with_thresholds("[total] 20% wanted")).outcome == Outcome::pass);

  Sides all = made(12, 1.09);  // the growth of the total is not significant
  CHECK(all.judged().findings.front().verdict == Verdict::same);
  CHECK(all.judged().outcome == Outcome::inconclusive);
  CHECK(reasons_of(all.judged()).find("all kernels may be slower") == 0);

  CHECK(made(0, 1).judged().outcome == Outcome::pass);
  CHECK(made(5, 0.7).judged().outcome == Outcome::pass);  // the new side is faster
}

TEST_CASE("a slowdown that a lower clock explains is inconclusive") {
  Sides sides(30, 5);
  sides.slow_down_all(1.05);
  for (size_t run = 0; run < 10; ++run) {
    sides.facts(run).clocks["A GPU"] = {
        .samples = 9, .mean_mhz = run < 5 ? 1980 : 1980 / 1.05, .min_mhz = 0, .max_mhz = 0};
  }
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::inconclusive);
  CHECK(judgement.findings.front().verdict == Verdict::unclear);
  REQUIRE(judgement.findings.front().cycles_percent);
  CHECK(std::abs(*judgement.findings.front().cycles_percent) < 0.5);
  CHECK(reasons_of(judgement).find("not in GPU cycles") != std::string::npos);

  sides.slow_down(4, 1.1);  // one kernel also needs more cycles
  CHECK(sides.judged().outcome == Outcome::regression);

  sides.facts(3).clocks["A GPU"].samples = 2;  // too few samples for a mean
  CHECK_FALSE(sides.judged().findings.front().cycles_percent);
  sides.facts(3).clocks.clear();  // one run has no clock
  CHECK_FALSE(sides.judged().findings.front().cycles_percent);
}

TEST_CASE("a slowdown that a higher clock hides is inconclusive") {
  const auto with_clock = [](Sides& sides, double factor) {
    for (size_t run = 0; run < 10; ++run) {
      sides.facts(run).clocks["A GPU"] = {
          .samples = 9, .mean_mhz = run < 5 ? 1500 : 1500 * factor, .min_mhz = 0, .max_mhz = 0};
    }
  };
  Sides sides(30, 5);
  with_clock(sides, 1.1);
  CHECK(sides.judged().outcome == Outcome::inconclusive);
  CHECK(reasons_of(sides.judged()).find("slower in GPU cycles (+10.") == 0);
  CHECK(sides.judged(with_thresholds("[total] 15% wanted")).outcome == Outcome::pass);

  with_clock(sides, 1.015);  // this change is not above --material
  CHECK(sides.judged().outcome == Outcome::pass);
}

// Each of 30 kernels has 1/30 of the time: a kernel that takes 2.5 times as long adds 5%.
TEST_CASE("light kernels whose possible slowdowns add much to the total do not pass") {
  Sides sides(30, 5);
  for (size_t kernel = 0; kernel < 30; ++kernel) {
    for (size_t run = 0; run < 10; ++run) {
      // Every second run of each kernel takes longer, so that no slowdown is significant.
      sides.comparison.kernels[kernel].costs[run].ns *= (kernel + run) % 2 == 0 ? 3 : 1;
    }
  }
  CHECK(sides.judged().outcome == Outcome::inconclusive);
  CHECK(reasons_of(sides.judged()).find("a slowdown of 68.2% of kernel_0 is possible, but not proven: ") == 0);
}

TEST_CASE("runs that are not comparable are inconclusive") {
  const auto reasons_after = [](auto change) {
    Sides sides(30, 5);
    sides.slow_down(7, 1.5);
    change(sides);
    const Judgement judgement = sides.judged();
    CHECK(judgement.outcome == Outcome::inconclusive);
    return reasons_of(judgement);
  };
  CHECK(reasons_after([](Sides& sides) { sides.facts(6).devices = {"B GPU"}; }) ==
        "not the same device: A GPU (old0.txt) and B GPU (new1.txt)\n");
  CHECK(reasons_after([](Sides& sides) { sides.facts(6).driver = "2.0"; }) ==
        "not the same driver: 1.0 (old0.txt) and 2.0 (new1.txt)\n");
  CHECK(reasons_after([](Sides& sides) { sides.facts(2).info.covered = {.recorded = 197, .lost = 3}; }) ==
        "old2.txt: 1.50% of its GPU work was lost, more than 1%\n");
  CHECK(reasons_after([](Sides& sides) {
          for (size_t run = 0; run < 10; ++run) {
            sides.facts(run).launches = 20;
          }
          sides.facts(6).failed_launches = 18;
        }) == "new1.txt: 90.00% of its launches failed, but 0.00% of the other side's\n");
  CHECK(reasons_after([](Sides& sides) { sides.facts(2).exit_status = "139"; }) ==
        "old2.txt: its program failed (exit status 139)\n");
  CHECK(reasons_after([](Sides& sides) {
          sides.facts(2).info.weighted_windows = true;
          sides.facts(6).info.meta.emplace("recording", "1");
        }) ==
        "old2.txt was recorded only in windows (--max-overhead) and new1.txt without that option, and estimates vary "
        "more "
        "than times\n");
  CHECK(reasons_after([](Sides& sides) { sides.facts(9).info.complete = false; }) ==
        "new4.txt: it is cut short: its END record is missing\n");
  CHECK(reasons_after([](Sides& sides) { sides.facts(9).info.kind = gpuprof::analyze::ProfileKind::launch_counts; }) ==
        "new4.txt: it has no GPU times, only counts\n");
  CHECK(reasons_after([](Sides& sides) {
          for (size_t kernel = 0; kernel < 20; ++kernel) {
            sides.comparison.kernels[kernel].change = kernel < 10 ? Change::gone : Change::appeared;
            for (size_t run = 0; run < 10; ++run) {
              sides.comparison.kernels[kernel].costs[run].ns *= (run < 5) == (kernel < 10) ? 3 : 0;
            }
          }
        }).find("two different programs") != std::string::npos);
  CHECK(reasons_after([](Sides& sides) {
          sides.facts(2).file = "a\x1b[31m";
          sides.facts(2).exit_status = "1";
        }).find('\x1b') == std::string::npos);
}

TEST_CASE("a driver mismatch is detected if the first run has no driver version") {
  Sides sides(30, 5);
  sides.facts(0).driver.clear();
  CHECK(sides.judged().outcome == Outcome::pass);
  sides.facts(6).driver = "2.0";
  CHECK(sides.judged().outcome == Outcome::inconclusive);
  CHECK(reasons_of(sides.judged()) == "not the same driver: 1.0 (old1.txt) and 2.0 (new1.txt)\n");
}

TEST_CASE("an attached process that still runs has not failed") {
  Sides sides(30, 5);
  sides.facts(2).exit_status = "still running";
  CHECK(sides.judged().outcome == Outcome::pass);
}

TEST_CASE("a program that lost or gained almost all of its work does not pass") {
  for (const bool shrunk : {true, false}) {
    Sides sides(12, 5);
    for (size_t kernel = 1; kernel < 12; ++kernel) {
      sides.comparison.kernels[kernel].change = shrunk ? Change::gone : Change::appeared;
      for (size_t run = 0; run < 10; ++run) {
        sides.comparison.kernels[kernel].costs[run].ns *= (run < 5) == shrunk ? 1 : 0;
      }
    }
    CHECK(sides.judged().outcome == Outcome::inconclusive);
    CHECK(reasons_of(sides.judged()) ==
          std::string("these are two different programs: less than half of the GPU time of the ") +
              (shrunk ? "old" : "new") + " side is in kernels that both have\n");
  }
}

TEST_CASE("fewer than three runs a side are inconclusive") {
  for (const size_t runs : {1, 2}) {
    Sides sides(30, runs);
    sides.slow_down(7, 1.5);
    const Judgement judgement = sides.judged();
    CHECK(judgement.outcome == Outcome::inconclusive);
    CHECK(reasons_of(judgement).find("too few: at least 3 each") != std::string::npos);
    CHECK(std::abs(of_kernel(judgement, 7)->change_percent - 50) < 5);
  }
  JudgeOptions options;
  CHECK(judge({}, options).outcome == Outcome::inconclusive);
}

TEST_CASE("a pass needs runs that could have shown a regression") {
  Sides sides(3, 3);
  std::mt19937_64 random(3);
  for (KernelLine& kernel : sides.comparison.kernels) {
    for (Cost& cost : kernel.costs) {
      cost.ns += random() % 8'000'000;
    }
  }
  const Judgement noisy = sides.judged();
  CHECK(noisy.outcome == Outcome::inconclusive);
  CHECK(reasons_of(noisy).find("is possible, but not proven") != std::string::npos);
  JudgeOptions lax;
  lax.min_effect_percent = 1000;
  CHECK(sides.judged(lax).outcome == Outcome::pass);
}

TEST_CASE("a large slowdown passes if --material allows it, and only if it cannot be larger") {
  Sides sides(1, 5);
  for (size_t run = 0; run < 10; ++run) {
    sides.comparison.kernels[0].costs[run].ns = (run < 5 ? 10'000'000 : 20'000'000) + run % 5 * 200'000;
  }
  JudgeOptions options;
  options.material_percent = 50;
  CHECK(sides.judged(options).outcome == Outcome::regression);
  options.material_percent = 150;
  CHECK(sides.judged(options).outcome == Outcome::pass);
  options.material_percent = 98;
  const Judgement judgement = sides.judged(options);
  CHECK(judgement.outcome == Outcome::inconclusive);
  CHECK(reasons_of(judgement).find("a slowdown of 98% of the total is possible") == 0);
  CHECK(reasons_of(judgement).find("stricter test") == std::string::npos);
}

TEST_CASE("an interval above 0 that proves no regression is explained") {
  Sides sides(1, 3);
  const uint64_t ns[6] = {8'607'000, 10'000'000, 11'618'000, 12'460'000, 14'470'000, 16'810'000};
  for (size_t run = 0; run < 6; ++run) {
    sides.comparison.kernels[0].costs[run].ns = ns[run];
  }
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::inconclusive);
  const std::string reasons = reasons_of(judgement);
  CHECK(reasons.find(
            "a slowdown of 25% of the total is possible, but not proven: the 95% interval of the change is +") == 0);
  CHECK(reasons.find("a regression must pass a stricter test") != std::string::npos);
}

TEST_CASE("a note explains mean times that disagree with the percentage") {
  Sides sides(1, 4);
  const auto noted = [&sides] {
    const std::vector<std::string> notes = sides.judged().notes;
    return std::count_if(notes.begin(), notes.end(),
                         [](const std::string& note) { return note.find("percentages compare geometric") == 0; });
  };
  sides.slow_down_all(1.1);
  CHECK(noted() == 0);
  sides.comparison.kernels[0].costs[0].ns *= 4;  // the arithmetic mean of the old runs exceeds their geometric mean
  CHECK(noted() == 1);

  // The common factor is not a disagreement.
  Sides many(30, 5);
  many.slow_down_all(1.1);
  many.slow_down(3, 1.2);
  const Judgement judgement = many.judged();
  CHECK(judgement.factor_removed);
  CHECK(judgement.notes.empty());
}

TEST_CASE("percentages above the limit are complete, with and without a sign") {
  CHECK(signed_percent(-2.14) == "-2.1%");
  CHECK(signed_percent(0.03) == "+0.03%");
  CHECK(plain_percent(99.7) == "100%");
  CHECK(signed_percent(1e6) == "over +100000%");
  CHECK(plain_percent(1e6) == "over 100000%");
  CHECK(plain_percent(INFINITY) == "not known");
  CHECK(signed_percent(-INFINITY) == "not known");
}

TEST_CASE("few kernels are judged without common factor and moderation, with a note") {
  Sides sides(1, 5);
  sides.slow_down(0, 1.1);
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::regression);
  CHECK_FALSE(judgement.factor_removed);
  CHECK_FALSE(judgement.moderated);
  REQUIRE(judgement.notes.size() == 1);
  CHECK(judgement.notes[0].find("1 kernel is too few") == 0);
}

TEST_CASE("sides with different variances use the plain test") {
  Sides sides(30, 5);
  for (KernelLine& kernel : sides.comparison.kernels) {
    for (size_t run = 5; run < 10; ++run) {
      kernel.costs[run].ns = 10'000'000 + (kernel.costs[run].ns - 10'000'000) * 10;
    }
  }
  const Judgement judgement = sides.judged();
  CHECK_FALSE(judgement.moderated);
  CHECK(judgement.factor_removed);
}

TEST_CASE("a permutation test confirms findings from 8 runs a side") {
  Sides sides(30, 8);
  sides.slow_down(7, 1.1);
  const Judgement judgement = sides.judged();
  REQUIRE(of_kernel(judgement, 7)->permutation_p);
  CHECK(*of_kernel(judgement, 7)->permutation_p == 1.0 / 12870);
  CHECK(judgement.findings.front().permutation_p);
}

TEST_CASE("thresholds waive a kernel, its paths and the total") {
  Sides sides(12, 5);
  sides.slow_down(7, 1.5);
  CHECK(sides.judged().outcome == Outcome::regression);

  const Judgement excused = sides.judged(with_thresholds("kernel_7 60% wanted"));
  CHECK(of_kernel(excused, 7)->verdict == Verdict::excused);
  CHECK(of_kernel(excused, 7)->note == "gate.txt:1: up to 60%: wanted");
  CHECK(excused.findings.front().verdict == Verdict::excused);  // the total grew only because of kernel 7
  CHECK(sides.judged(with_thresholds("kernel_7 40% wanted")).outcome == Outcome::regression);

  sides.add_path(7, "caller", sides.comparison.kernels[7].costs);
  CHECK(of_kernel(sides.judged(with_thresholds("caller 60% wanted")), 7)->verdict == Verdict::excused);
  CHECK(of_kernel(sides.judged(with_thresholds("caller 40% wanted")), 7)->verdict == Verdict::slower);
}

TEST_CASE("thresholds may exceed the largest change that a pass could miss") {
  Sides sides(12, 5);
  sides.slow_down(7, 4);
  const Judgement judgement = sides.judged(with_thresholds("kernel_7 1000% meant\n[total] 1000% meant"));
  CHECK(judgement.outcome == Outcome::pass);
  CHECK(reasons_of(judgement).empty());
  CHECK(judgement.findings.front().verdict == Verdict::excused);
  CHECK(sides.judged(with_thresholds("kernel_7 1000% meant")).outcome == Outcome::pass);
  CHECK(sides.judged(with_thresholds("[total] 1000% meant")).outcome == Outcome::regression);
}

TEST_CASE("more runs are advised only if the advised number exceeds the existing one") {
  Sides sides(1, 5);
  sides.comparison.kernels[0].costs[9].ns *= 2;  // one run is an outlier, so the interval is wide
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::inconclusive);
  const size_t at = reasons_of(judgement).find("about ");
  CHECK((at == std::string::npos || std::stoul(reasons_of(judgement).substr(at + 6)) > 5));
}

TEST_CASE("a slower kernel and its only path have the same interval") {
  for (const size_t kernels : {5, 40}) {  // Welch's test; a variance that is moved towards that of all kernels
    Sides sides(kernels, 4);
    sides.slow_down(2, 1.5);
    sides.comparison.kernels[2].costs[0].ns += 200'000;  // makes the variances of the sides unequal
    sides.add_path(2, "caller", sides.comparison.kernels[2].costs);
    const Judgement judgement = sides.judged();
    const Finding* const kernel = of_kernel(judgement, 2);
    REQUIRE(kernel != nullptr);
    CHECK(kernel->verdict == Verdict::slower);
    const Finding& path = *(kernel + 1);
    REQUIRE(path.what == Finding::What::path);
    CHECK(path.verdict == Verdict::slower);
    CHECK(path.change_percent == kernel->change_percent);
    CHECK(path.low_percent == kernel->low_percent);
    CHECK(path.high_percent == kernel->high_percent);
    CHECK(path.p == kernel->p);
  }
}

TEST_CASE("a note says that all kernels of both sides were compared as renamed") {
  const auto says_renamed = [](const Judgement& judgement) {
    return std::any_of(judgement.notes.begin(), judgement.notes.end(), [](const std::string& note) {
      return note.starts_with("no kernel has the same name on both sides");
    });
  };
  Sides sides(3, 5);
  sides.comparison.kernels[2].name = "[copy HtoD]";
  CHECK_FALSE(says_renamed(sides.judged()));
  sides.comparison.kernels[0].change = Change::renamed;
  CHECK_FALSE(says_renamed(sides.judged()));
  sides.comparison.kernels[1].change = Change::renamed;
  CHECK(says_renamed(sides.judged()));
}

TEST_CASE("the paths of a slower kernel are findings, too") {
  Sides sides(30, 5);
  std::vector<Cost> half = sides.comparison.kernels[7].costs;
  for (Cost& cost : half) {
    cost.ns /= 2;
  }
  sides.add_path(7, "as_before", half);
  for (size_t run = 5; run < 10; ++run) {
    sides.comparison.kernels[7].costs[run].ns += half[run].ns / 2;
    half[run].ns += half[run].ns / 2;
  }
  sides.add_path(7, "slower", half);
  const Judgement judgement = sides.judged();
  REQUIRE(judgement.findings.size() == 32);
  CHECK(judgement.findings[1].line == 7);
  CHECK(judgement.findings[2].what == Finding::What::path);
  CHECK(judgement.findings[2].line == 1);
  CHECK(judgement.findings[2].verdict == Verdict::slower);
}

TEST_CASE("a kernel whose launches moved to another caller is not a regression") {
  Sides sides(30, 5);
  std::vector<Cost> before = sides.comparison.kernels[7].costs;
  std::vector<Cost> after = before;
  std::fill(before.begin() + 5, before.end(), Cost{});
  std::fill(after.begin(), after.begin() + 5, Cost{});
  sides.add_path(7, "caller", before, Change::gone);
  sides.add_path(7, "other_caller", after, Change::moved);
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::pass);
  CHECK(of_kernel(judgement, 7)->verdict == Verdict::moved);
}

TEST_CASE("a new kernel is judged by its contribution to the total") {
  Sides added(30, 5);
  Sides replaced(30, 5);
  for (Sides* sides : {&added, &replaced}) {
    sides->comparison.kernels[7].change = Change::appeared;
    for (size_t run = 0; run < 5; ++run) {
      sides->comparison.kernels[7].costs[run] = {};
    }
  }
  replaced.comparison.kernels[8].change = Change::gone;
  for (size_t run = 5; run < 10; ++run) {
    replaced.comparison.kernels[8].costs[run] = {};
  }
  CHECK(added.judged().outcome == Outcome::regression);
  CHECK(added.judged().findings[1].what == Finding::What::unmatched);
  CHECK(added.judged().findings[1].verdict == Verdict::slower);
  CHECK(of_kernel(added.judged(), 7)->verdict == Verdict::appeared);
  CHECK(replaced.judged().outcome == Outcome::pass);
  CHECK(of_kernel(replaced.judged(), 8)->verdict == Verdict::gone);
}

TEST_CASE("thresholds waive a new kernel by its name, or by the total") {
  Sides sides(30, 5);
  sides.comparison.kernels[7].change = Change::appeared;
  for (size_t run = 0; run < 5; ++run) {
    sides.comparison.kernels[7].costs[run] = {};
  }
  for (const char* allowed : {"kernel_7 4% wanted", "kernel_? 4% wanted", "[total] 4% wanted"}) {
    const Judgement judgement = sides.judged(with_thresholds(allowed));
    CHECK(judgement.outcome == Outcome::pass);
    CHECK(judgement.findings[1].what == Finding::What::unmatched);
    CHECK(judgement.findings[1].verdict == Verdict::excused);
    CHECK(judgement.findings[1].note == "gate.txt:1: up to 4%: wanted");
    CHECK(of_kernel(judgement, 7)->verdict == Verdict::appeared);
  }
  // Kernel 7 adds 1/29 of the time, which exceeds 3%.
  CHECK(sides.judged(with_thresholds("kernel_7 3% wanted")).outcome == Outcome::regression);
  CHECK(sides.judged(with_thresholds("kernel_8 4% wanted")).outcome == Outcome::regression);
  sides.slow_down(8, 1.5);
  CHECK(sides.judged(with_thresholds("kernel_7 4% wanted")).outcome == Outcome::regression);
}

TEST_CASE("a kernel that is missing in some runs has a finite change") {
  Sides sides(30, 5);
  for (const size_t run : {1, 6}) {
    sides.comparison.kernels[7].costs[run] = {};
  }
  const Judgement judgement = sides.judged();
  CHECK(judgement.outcome == Outcome::pass);
  CHECK(std::isfinite(of_kernel(judgement, 7)->change_percent));
}

TEST_CASE("the runs of one side without another are judged for their noise") {
  Sides sides(30, 5);
  for (KernelLine& kernel : sides.comparison.kernels) {
    kernel.change = Change::appeared;  // compare() sets this if only one side has runs
  }
  const Judgement compared = Sides(30, 5).judged();
  static_cast<void>(sides.judged());
  sides.comparison.old_runs = 0;
  const Judgement alone = judge_self(sides.comparison, {});
  CHECK(alone.one_side);
  CHECK(alone.outcome == Outcome::pass);
  CHECK(alone.findings.size() == 31);
  CHECK(std::abs(alone.noise_percent - compared.noise_percent) < 0.05);
  // Ten runs a side can show smaller changes than five can.
  CHECK(alone.minimum_detectable_percent < 0.85 * compared.minimum_detectable_percent);
  CHECK(alone.minimum_detectable_percent > 0.5 * compared.minimum_detectable_percent);

  Sides warming(30, 5);
  warming.slow_down_all(1.1);
  static_cast<void>(warming.judged());
  const Judgement drifting = judge_self(warming.comparison, {});
  CHECK(drifting.outcome == Outcome::pass);
  REQUIRE(drifting.notes.size() == 1);
  CHECK(drifting.notes[0].find("the GPU time of the second half of the runs differs from the first half by +") == 0);
  CHECK(judge_self({}, {}).outcome == Outcome::inconclusive);

  for (const size_t runs : {3, 4}) {
    Sides few(1, 2);
    static_cast<void>(few.judged());
    few.comparison.runs.resize(runs);
    few.comparison.totals.resize(runs);
    few.comparison.kernels[0].costs.resize(runs);
    const std::vector<std::string> notes = judge_self(few.comparison, {}).notes;
    const bool noted = !notes.empty() && notes.back().find("the noise is unknown: --self needs at least 4 runs") == 0;
    CHECK(noted == (runs == 3));
  }
}
