#include "output/compare/diff_lines.h"

#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "compare/small_runs.h"

using namespace gpuprof;
using compare::Difference;
using output::DiffLine;
using output::DiffLines;

namespace {

// The comparison and its lines. `lines` refers to `all`, so a Diffed object must not move.
struct Diffed {
  Diffed(const std::vector<test::Launches>& before, const std::vector<test::Launches>& after)
      : old_run(test::small_run(before)),
        new_run(test::small_run(after)),
        all(compare::compare({&old_run, 1}, {&new_run, 1})),
        lines(output::diff_lines(all, true, {})) {}
  Diffed(const Diffed&) = delete;
  Diffed& operator=(const Diffed&) = delete;
  ~Diffed() = default;

  [[nodiscard]] const Difference& function(const std::string& name) const {
    for (const DiffLine& line : lines.functions) {
      if (all.functions[line.line].name == name) {
        return line.difference;
      }
    }
    FAIL("no function " << name);
    return lines.total;
  }

  compare::Run old_run;
  compare::Run new_run;
  compare::Comparison all;
  DiffLines lines;
};

// Checks that the changes of all kernels, and of all paths, add up to the total, by launches and by duration.
void check_sums(const DiffLines& lines) {
  for (const auto* rows : {&lines.kernels, &lines.paths}) {
    Difference sum;
    for (const DiffLine& row : *rows) {
      CHECK(row.difference.change == row.difference.by_launches + row.difference.by_duration);
      sum.by_launches += row.difference.by_launches;
      sum.by_duration += row.difference.by_duration;
    }
    CHECK(sum.by_launches == lines.total.by_launches);
    CHECK(sum.by_duration == lines.total.by_duration);
  }
}

}  // namespace

TEST_CASE("a kernel, its callers and the total split their change in the same way") {
  // one() launches short kernels and two() long ones. The kernel's number of launches stays the same.
  const Diffed diff({{"main;one;k", 2000, 200}, {"main;two;k", 100'000, 100}},
                    {{"main;one;k", 1000, 100}, {"main;two;k", 200'400, 200}});
  CHECK(diff.function("one").by_launches == -1000);
  CHECK(diff.function("one").by_duration == 0);
  CHECK(diff.function("two").by_launches == 100'000);
  CHECK(diff.function("two").by_duration == 400);
  for (const Difference& all : {diff.function("main"), diff.lines.kernels.at(0).difference, diff.lines.total}) {
    CHECK(all.change == 99'400);
    CHECK(all.by_launches == 99'000);
    CHECK(all.by_duration == 400);
  }
}

TEST_CASE("launches that only changed their path, and became longer, are not more launches") {
  const Diffed diff({{"main;a;b;c;k", 1000, 10}, {"main;j", 1}}, {{"main;d;e;f;k", 3000, 10}, {"main;j", 1}});
  REQUIRE(diff.lines.paths.size() == 3);
  CHECK(diff.lines.total.by_launches == 0);
  CHECK(diff.lines.total.by_duration == 2000);
  CHECK(diff.function("d").by_launches == 1000);
  CHECK(diff.function("d").by_duration == 2000);
  CHECK(diff.function("a").by_launches == -1000);
  check_sums(diff.lines);
}

TEST_CASE("the split changes of random runs add up") {
  std::mt19937 random(7);
  const auto below = [&random](uint32_t limit) { return random() % limit; };
  const auto launches = [&] {
    std::vector<test::Launches> made;
    for (uint32_t path = 0; path < 12; ++path) {
      if (below(4) > 0) {
        const std::string name = "main;f" + std::to_string(path % 4) + ";g" + std::to_string(path / 4) + ";k" +
                                 std::to_string(path % 3) + std::string(path % 3 + 1, 'z');
        made.push_back({name, 1 + below(100'000), 1 + below(50)});
      }
    }
    return made;
  };
  for (int round = 0; round < 200; ++round) {
    auto before = launches();
    auto after = launches();
    before.push_back({"main;k", 5});
    after.push_back({"main;k", 6});
    const Diffed diff(before, after);
    check_sums(diff.lines);
    CHECK(diff.function("main").by_launches == diff.lines.total.by_launches);
    CHECK(diff.function("main").by_duration == diff.lines.total.by_duration);
  }
}
