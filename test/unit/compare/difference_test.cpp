#include "compare/difference.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "catch.h"
#include "compare/comparability_warnings.h"
#include "small_runs.h"

using namespace gpuprof;
using compare::Cost;
using compare::Difference;
using compare::difference_of;
using compare::Run;
using test::small_run;

TEST_CASE("a change consists of additional launches at the old duration and of longer launches") {
  const Difference d = difference_of({{1000, 10}, {1800, 12}}, 1, true);
  CHECK(d.change == 800);
  CHECK(d.by_launches == 200);  // 2 more launches of 100 ns
  CHECK(d.by_duration == 600);  // 12 launches that are 50 ns longer
  CHECK(std::lround(d.percent()) == 80);
  const Difference slower = difference_of({{1000, 7}, {1001, 7}}, 1, true);
  CHECK(slower.by_launches == 0);
  CHECK(slower.by_duration == 1);
}

TEST_CASE("a change on only one side is attributed to launches") {
  const Difference appeared = difference_of({{0, 0}, {500, 5}}, 1, true);
  CHECK(appeared.by_launches == 500);
  CHECK(appeared.by_duration == 0);
  CHECK(appeared.percent() == 0);
  const Difference gone = difference_of({{500, 5}, {0, 0}}, 1, true);
  CHECK(gone.by_launches == -500);
  CHECK(gone.percent() == -100);
}

TEST_CASE("several runs are compared by their means, with their least and most") {
  const Difference d = difference_of({{100, 1}, {200, 1}, {300, 2}, {320, 2}, {400, 2}}, 2, true);
  CHECK(d.before.value == 150);
  CHECK(d.before.least == 100);
  CHECK(d.before.most == 200);
  CHECK(d.after.value == 340);
  CHECK(d.change == 190);
  CHECK(d.by_launches == 150);
}

TEST_CASE("a comparison of counts has only a change by launches") {
  const Difference d = difference_of({{0, 10}, {0, 17}}, 1, false);
  CHECK(d.change == 7);
  CHECK(d.by_launches == 7);
  CHECK(d.by_duration == 0);
}

TEST_CASE("sums near 64 bits do not overflow") {
  const Difference d = difference_of({{UINT64_MAX, 1}, {0, 0}}, 1, true);
  CHECK(d.change < 0);
  CHECK(d.change == d.by_launches + d.by_duration);
  const Difference up = difference_of({{1, UINT64_MAX}, {UINT64_MAX, 1}}, 1, true);
  CHECK(up.change > 0);
}

TEST_CASE("profiles that measure different things are not compared") {
  const Run times[] = {small_run({{"main;k", 10}}, "a.txt")};
  Run counts[] = {small_run({{"main;k", 0, 5}}, "b.txt")};
  counts[0].timed = false;
  counts[0].facts.info.kind = analyze::ProfileKind::launch_counts;
  const Status refused = compare::check_comparable(times, counts);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("a.txt has GPU times, b.txt has counts of launches") != std::string::npos);
  CHECK(compare::check_comparable(times, times));
  const Run nothing[] = {small_run({}, "c.txt")};
  const Status empty = compare::check_comparable(times, nothing);
  REQUIRE_FALSE(empty);
  CHECK(empty.error().exit_code == kExitNothing);
}

TEST_CASE("two programs without a common kernel are not compared") {
  const auto related = [](const std::vector<test::Launches>& before, const std::vector<test::Launches>& after) {
    const Run old_runs[] = {small_run(before)};
    const Run new_runs[] = {small_run(after)};
    return compare::check_related(compare::compare(old_runs, new_runs)).ok();
  };
  CHECK(related({{"main;k", 1}}, {{"main;k", 1}, {"main;j", 1}}));
  CHECK_FALSE(related({{"main;a;k", 1, 7}}, {{"main;b;c;d;j", 900}}));
  CHECK_FALSE(related({{"main;a;k", 1, 7}, {"main;[copy HtoD]", 1}}, {{"main;b;c;d;j", 900}, {"main;[copy HtoD]", 1}}));
  CHECK(related({{"main;[copy HtoD]", 1}}, {{"main;[copy HtoD]", 2}}));
}

TEST_CASE("a problem of comparability names its file") {
  Run before = small_run({{"main;k", 1}}, "a.txt");
  Run after = small_run({{"main;k", 1}}, "b.txt");
  const auto comparability_warnings = [&] {
    const compare::RunFacts* old_facts[] = {&before.facts};
    const compare::RunFacts* new_facts[] = {&after.facts};
    return compare::comparability_warnings(old_facts, new_facts);
  };
  CHECK(comparability_warnings().empty());
  before.facts.devices = {"NVIDIA H100"};
  after.facts.devices = {"NVIDIA H200"};
  before.facts.driver = "580";
  after.facts.info.complete = false;
  after.facts.info.covered = {.recorded = 97, .lost = 3};
  after.facts.exit_status = "signal 9 (SIGKILL)";
  const auto all = comparability_warnings();
  REQUIRE(all.size() == 4);  // `after` has no driver version, so no warning says that drivers differ
  CHECK(all[0] == "the devices differ: 'NVIDIA H100' -> 'NVIDIA H200', which may explain all of the difference");
  CHECK(all[1] == "b.txt: the profile is cut short: it has no END record");
  CHECK(all[2] == "b.txt: 3.00% of its GPU work was lost");
  CHECK(all[3] == "b.txt: the recorded program ended with signal 9 (SIGKILL)");
  after.facts.info.covered = {.recorded = 10'000'000, .lost = 1};  // even the smallest loss is said
  CHECK(comparability_warnings().at(2) == "b.txt: 0.01% of its GPU work was lost");
  before.facts.info.samples = 98;
  before.facts.info.losses["samples_dropped"] = 1;
  after.facts.info.samples = 99;
  after.facts.info.losses["samples_dropped"] = 1;
  REQUIRE(comparability_warnings().size() == 5);
  CHECK(comparability_warnings()[1] ==
        "a.txt: too many of its stall samples were dropped to say what kernels waited for");
}

TEST_CASE("a run with a larger share of failed launches than the other side is named") {
  Run before = small_run({{"main;k", 1}}, "a.txt");
  Run after = small_run({{"main;k", 1}}, "b.txt");
  const compare::RunFacts* old_facts[] = {&before.facts};
  const compare::RunFacts* new_facts[] = {&after.facts};
  after.facts.launches = 20;
  after.facts.failed_launches = 18;
  CHECK(compare::comparability_warnings(old_facts, new_facts).empty());  // the old side's launches are unknown
  before.facts.launches = 10;
  before.facts.failed_launches = 9;
  CHECK(compare::comparability_warnings(old_facts, new_facts).empty());
  before.facts.failed_launches = 0;
  const std::vector<std::string> expected = {"b.txt: 90.00% of its launches failed, but 0.00% of the other side's"};
  CHECK(compare::comparability_warnings(old_facts, new_facts) == expected);
}
