// What is the same thing in several runs.
#include "compare/comparison.h"

#include "catch.h"
#include "small_runs.h"

using namespace gpuprof;
using compare::Change;
using compare::Comparison;
using compare::Match;
using compare::Run;
using test::named;
using test::small_run;

TEST_CASE("the same name is the same line, whatever its place in each run") {
  const std::vector<Run> old_runs = {small_run({{"main;a;gemm", 100, 2}, {"main;b;copy", 10}})};
  const std::vector<Run> new_runs = {small_run({{"main;b;copy", 11}, {"main;a;gemm", 150, 3}}),
                                     small_run({{"main;a;gemm", 160, 3}})};
  const Comparison all = compare::compare(old_runs, new_runs);
  REQUIRE(all.kernels.size() == 2);
  const auto* gemm = named(all.kernels, "gemm");
  REQUIRE(gemm != nullptr);
  CHECK(gemm->match == Match::exact);
  CHECK(gemm->change == Change::both);
  CHECK(gemm->costs.at(0).ns == 100);
  CHECK(gemm->costs.at(1).ns == 150);
  CHECK(gemm->costs.at(2).ns == 160);
  CHECK(named(all.kernels, "copy")->costs.at(2).ns == 0);
  CHECK(all.totals.at(0).ns == 110);
  CHECK(all.old_runs == 1);
  CHECK(all.paths.size() == 2);
}

TEST_CASE("what is on one side only has appeared or is gone") {
  const Run before[] = {small_run({{"main;a;gemm", 100}, {"main;old_sort", 100}})};
  const Run after[] = {small_run({{"main;a;gemm", 100}, {"main;f;g;h;histogram", 77000, 900}})};
  const Comparison all = compare::compare(before, after);
  CHECK(named(all.kernels, "old_sort")->change == Change::gone);
  CHECK(named(all.kernels, "histogram")->change == Change::appeared);
  CHECK(named(all.functions, "f")->change == Change::appeared);
  CHECK(named(all.functions, "main")->change == Change::both);
}
