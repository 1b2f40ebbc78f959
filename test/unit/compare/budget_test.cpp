#include "compare/judge/budget.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"

namespace gpuprof::compare {
namespace {

// Returns a run with 10 ns below solve, and 90 ns on a path through `others`.
Run run_with(const std::vector<Function>& others) {
  Run run;
  run.facts.file = "run.txt";
  run.facts.info.complete = true;
  run.functions = {{.name = "solve", .total = {10, 1}}};
  run.kernels = {{"kernel", {100, 2}}};
  run.paths = {{0, {0}, {10, 1}}, {0, {}, {90, 1}}};
  for (const Function& other : others) {
    run.paths.back().functions.push_back(static_cast<uint32_t>(run.functions.size()));
    run.functions.push_back(other);
  }
  return run;
}

Outcome outcome_of(const Run& run, uint64_t max_ns) {
  const auto result = check_budget(std::vector{run}, {true, "^solve$", max_ns}, 1);
  REQUIRE(result.ok());
  CHECK(result->reasons.empty() == (result->outcome != Outcome::inconclusive));
  return result->outcome;
}

TEST_CASE("a budget of CPU times is inconclusive if CPU samples are missing") {
  Run run = run_with({});
  run.paths.pop_back();
  const auto outcome = [&](analyze::Measure measure) {
    run.facts.measure = measure;
    return check_budget(std::vector{run}, {true, "^solve$", 20, measure}, 1)->outcome;
  };
  CHECK(outcome(analyze::Measure::cpu) == Outcome::pass);
  run.facts.info.meta.emplace("process.1.note.cpu_samples", "the CPU samples ended early");
  CHECK(outcome(analyze::Measure::cpu) == Outcome::inconclusive);
  CHECK(outcome(analyze::Measure::gpu) == Outcome::pass);
}

TEST_CASE("work with an unknown stack may belong to a function with a budget") {
  const std::vector<std::vector<Function>> unknown = {
      {},
      {{.name = "[stack not sampled]", .note = true}},
      {{.name = "[truncated]", .note = true}, {.name = "helper"}},
  };
  for (const auto& path : unknown) {
    CHECK(outcome_of(run_with(path), 99) == Outcome::inconclusive);
    CHECK(outcome_of(run_with(path), 100) == Outcome::pass);
    CHECK(outcome_of(run_with(path), 9) == Outcome::regression);
  }
}

TEST_CASE("a failed program is inconclusive, a program that still runs is not") {
  Run run = run_with({{.name = "main"}});
  for (const auto& [status, outcome] : {std::pair("", Outcome::pass),
                                        {"0", Outcome::pass},
                                        {"still running", Outcome::pass},
                                        {"3", Outcome::inconclusive},
                                        {"signal 9", Outcome::inconclusive}}) {
    run.facts.exit_status = status;
    CHECK(outcome_of(run, 10) == outcome);
  }
}

TEST_CASE("an estimate neither keeps a budget nor exceeds it") {
  Run run = run_with({{.name = "main"}});
  run.facts.info.weighted_windows = true;
  CHECK(outcome_of(run, 10) == Outcome::inconclusive);
  CHECK(outcome_of(run, 9) == Outcome::inconclusive);
}

TEST_CASE("a part of a program's run keeps a budget only if it was recorded in a chosen window") {
  using Meta = std::pair<const char*, const char*>;
  const auto check = [](const Meta& meta, uint64_t max_ns) {
    Run run = run_with({{.name = "main"}});
    run.facts.window_ns = 1'000'000'000;
    run.facts.info.meta.emplace(meta.first, meta.second);
    const auto result = check_budget(std::vector{run}, {true, "^solve$", max_ns}, 1);
    REQUIRE(result.ok());
    REQUIRE(result->reasons.size() == 1);
    CHECK(!result->runs.front().gap.empty());
    return std::pair(result->outcome, result->reasons.front());
  };
  for (const Meta& meta : {Meta{"filter", "--to 1s"},
                           {"part.which", "from 0s to 1s, of a profile split by time"},
                           {"recording.window", "--last 1 s"},
                           {"recording.window", "-p 42 --last 1 s"},
                           {"recording.window", "--duration 1 s --start-paused"},
                           {"recording.window", "signals"},
                           {"recording.window", "--delay 1 s --wait main"},
                           {"recording.window", "--wait main"},
                           {"nvtx_range", "step@train"}}) {
    INFO(meta.second);
    CHECK(check(meta, 10).first == Outcome::inconclusive);
    CHECK(check(meta, 10).second.find(meta.second) != std::string::npos);
    CHECK(check(meta, 9).first == Outcome::regression);
  }
  for (const Meta& meta : {Meta{"recording.window", "--delay 2.5 s"},
                           {"recording.window", "-p 42 --delay 1 s --duration 1 s"},
                           {"recording.window", "--duration 1 s"},
                           {"attach.pid", "42"}}) {
    INFO(meta.second);
    const auto [outcome, reason] = check(meta, 10);
    CHECK(outcome == Outcome::pass);
    CHECK(reason.starts_with("run.txt: the budget was held only in the recorded 1.00 s of the program's run ("));
    CHECK(check(meta, 9).first == Outcome::regression);
  }
}

TEST_CASE("a budget holds for the backends that the user has chosen") {
  Run run = run_with({{.name = "main"}});
  run.facts.info.meta.emplace("recording.backends", "cupti");
  const auto held = check_budget(std::vector{run}, {true, "^solve$", 10}, 1);
  REQUIRE(held.ok());
  CHECK(held->outcome == Outcome::pass);
  CHECK(held->reasons ==
        std::vector<std::string>{
            "run.txt: the budget was held only in the recorded part of the program's run (--backend cupti)"});
  run.facts.info.meta.emplace("recording.window", "--last 1 s");
  CHECK(outcome_of(run, 10) == Outcome::inconclusive);
}

TEST_CASE("a budget is inconclusive if a process was not recorded, or only after its start") {
  Run run = run_with({{.name = "main"}});
  run.facts.info.losses["process_refused"] = 0;
  CHECK(outcome_of(run, 10) == Outcome::pass);
  run.facts.info.losses["process_refused"] = 2;
  CHECK(outcome_of(run, 10) == Outcome::inconclusive);
  run.facts.info.losses.clear();
  run.facts.info.meta.emplace("process.42.note.attached", "earlier work is missing");
  const auto result = check_budget(std::vector{run}, {true, "^solve$", 10}, 1);
  REQUIRE(result.ok());
  CHECK(result->outcome == Outcome::inconclusive);
  CHECK(result->reasons == std::vector<std::string>{"run.txt: recorded only a part of the program's run: process 42 "
                                                    "without its start, so its true GPU time may be higher"});
}

TEST_CASE("work below other functions or hidden frames is not missing from a budget") {
  CHECK(outcome_of(run_with({{.name = "main"}}), 10) == Outcome::pass);
  CHECK(outcome_of(run_with({{.name = "[all frames hidden]", .note = true}}), 10) == Outcome::pass);
  // This function only has the name of the marker.
  CHECK(outcome_of(run_with({{.name = "[truncated]"}}), 10) == Outcome::pass);
}

}  // namespace
}  // namespace gpuprof::compare
