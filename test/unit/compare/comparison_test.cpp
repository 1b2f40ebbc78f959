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

TEST_CASE("equal names are matched, whatever their order in each run") {
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

TEST_CASE("a kernel or function of only one side has appeared or is gone") {
  const Run before[] = {small_run({{"main;a;gemm", 100}, {"main;old_sort", 100}})};
  const Run after[] = {small_run({{"main;a;gemm", 100}, {"main;f;g;h;histogram", 77000, 900}})};
  const Comparison all = compare::compare(before, after);
  CHECK(named(all.kernels, "old_sort")->change == Change::gone);
  CHECK(named(all.kernels, "histogram")->change == Change::appeared);
  CHECK(named(all.functions, "f")->change == Change::appeared);
  CHECK(named(all.functions, "main")->change == Change::both);
}

namespace {

Comparison of(const std::vector<test::Launches>& before, const std::vector<test::Launches>& after) {
  const Run old_runs[] = {small_run(before)};
  const Run new_runs[] = {small_run(after)};
  return compare::compare(old_runs, new_runs);
}

size_t count(const Comparison& all, Change change) {
  size_t kernels = 0;
  for (const auto& kernel : all.kernels) {
    kernels += kernel.change == change ? 1 : 0;
  }
  return kernels;
}

// Returns the change of a path, written "a;b;kernel" with the names of the new side (old names if the path is gone).
Change change_of(const Comparison& all, const std::string& wanted) {
  for (const auto& path : all.paths) {
    const std::string functions = test::path_text(all, path.functions);
    if ((functions.empty() ? functions : functions + ";") + all.kernels[path.kernel].name == wanted) {
      return path.change;
    }
  }
  FAIL("no path " << wanted);
  return Change::both;
}

}  // namespace

TEST_CASE("kernels that differ in hash, tile or template argument are matched") {
  const Comparison all = of({{"main;a;gemm_128x64_stage4", 100}, {"main;b;void f<float>(float*)", 50}},
                            {{"main;a;gemm_64x64_stage3", 130}, {"main;b;void f<half>(half*)", 40}});
  REQUIRE(all.kernels.size() == 2);
  const auto* gemm = named(all.kernels, "gemm_64x64_stage3");
  REQUIRE(gemm != nullptr);
  CHECK(gemm->match == Match::normalized);
  CHECK(gemm->change == Change::renamed);
  CHECK(gemm->old_name == "gemm_128x64_stage4");
  CHECK(gemm->costs.at(0).ns == 100);
  CHECK(gemm->costs.at(1).ns == 130);
  CHECK(all.paths.size() == 2);
  CHECK(change_of(all, "main;a;gemm_64x64_stage3") == Change::renamed);
}

TEST_CASE("kernels with equal normalized names are matched by their callers") {
  const Comparison all =
      of({{"main;a;k<1>", 100, 10}, {"main;b;k<2>", 500, 5}}, {{"main;b;k<4>", 510, 5}, {"main;a;k<3>", 100, 10}});
  REQUIRE(all.kernels.size() == 2);
  CHECK(named(all.kernels, "k<3>")->old_name == "k<1>");
  CHECK(named(all.kernels, "k<4>")->old_name == "k<2>");
}

TEST_CASE("renamed kernels with the same launches from the same paths are all matched") {
  std::vector<test::Launches> before;
  std::vector<test::Launches> after;
  for (uint64_t i = 0; i < 300; ++i) {
    const std::string path = "main;step" + std::to_string(i / 10) + ";launch;";
    before.push_back({path + "old" + std::string(1 + i % 26, 'x') + "q" + std::to_string(i) + "z", 1000 + 50 * i, 10});
    after.push_back({path + "fresh" + std::to_string(7 * i) + "w", 1000 + 50 * i, 10});
  }
  const Comparison all = of(before, after);
  CHECK(all.kernels.size() == 300);
  CHECK(count(all, Change::renamed) == 300);
  for (const auto& kernel : all.kernels) {
    CHECK(kernel.costs.at(0).ns == kernel.costs.at(1).ns);
  }
  CHECK(all.paths.size() == 300);
}

TEST_CASE("a kernel is gone if no new kernel clearly replaces it") {
  const Comparison often = of({{"main;a;sort", 100, 1}}, {{"main;a;histogram", 100, 900}});
  CHECK(count(often, Change::gone) == 1);
  CHECK(count(often, Change::appeared) == 1);
  const Comparison elsewhere =
      of({{"main;a;sort", 100, 1}, {"main;b;k", 1}}, {{"main;b;histogram", 100, 1}, {"main;a;k", 1}, {"main;b;k", 1}});
  CHECK(count(elsewhere, Change::gone) == 1);
  // Two candidates fit equally well, so neither is matched.
  const Comparison rivals = of({{"main;a;sort", 100, 2}}, {{"main;a;merge", 101, 2}, {"main;a;quick", 99, 2}});
  CHECK(count(rivals, Change::gone) == 1);
  CHECK(count(rivals, Change::appeared) == 2);
}

TEST_CASE("a kernel is renamed only if the same code of the program launches it") {
  const auto renamed = [](const test::Launches& before, const test::Launches& after) {
    return count(of({before}, {after}), Change::renamed) == 1;
  };
  // Functions whose names begin with "lib" belong to a library.
  CHECK(renamed({"_start;main;step;libLaunch;alpha", 1000, 200}, {"_start;main;step;libLaunch;heavy", 4000, 200}));
  CHECK(renamed({"main;step;libOld;libLaunch;alpha", 1000, 200}, {"main;step;libNew;libLaunch;heavy", 1100, 200}));
  CHECK(
      !renamed({"_start;main;alpha;libLaunch;alpha_k", 1000, 200}, {"_start;main;heavy;libLaunch;heavy_k", 990, 200}));
  CHECK(!renamed({"_start;main;a;step;libLaunch;alpha", 1000, 200}, {"_start;main;b;step;libLaunch;heavy", 990, 200}));
  // Each program has main, and many use the same libraries, so the times must be similar, too.
  CHECK(renamed({"main;libLaunch;alpha", 1000, 200}, {"main;libLaunch;heavy", 1500, 200}));
  CHECK(!renamed({"main;libLaunch;alpha", 1000, 200}, {"main;libLaunch;heavy", 4000, 200}));
  CHECK(!renamed({"libPool;libLaunch;alpha", 1000, 200}, {"libPool;libLaunch;heavy", 4000, 200}));
  // Without the callers, only the names are evidence.
  CHECK(!renamed({"alpha", 1000, 200}, {"heavy", 1000, 200}));
  CHECK(!renamed({"[truncated];alpha", 1000, 200}, {"[truncated];heavy", 1000, 200}));
  CHECK(!renamed({"ns::reduce_kernel", 1000, 200}, {"ns::softmax_kernel", 1000, 200}));
  CHECK(renamed({"alpha<1>", 1000, 200}, {"alpha<2>", 1000, 200}));
  CHECK(renamed({"ns::alpha", 1000, 200}, {"ns::alpha2", 1000, 200}));
  CHECK(renamed({"main;a;libLaunch;alpha", 1000, 200}, {"main;b;libLaunch;alpha2", 1000, 200}));
}

TEST_CASE("copies are never matched to other kinds of copies") {
  const Comparison all = of({{"main;a;[copy HtoD]", 100}}, {{"main;a;[copy DtoH]", 100}});
  CHECK(count(all, Change::renamed) == 0);
}

TEST_CASE("a renamed function is matched by its callers and callees") {
  const Comparison all = of({{"main;relu_old;launch;k", 100, 4}, {"main;relu_old;launch;j", 10, 4}, {"main;x;k", 5}},
                            {{"main;relu_new;launch;k", 120, 4}, {"main;relu_new;launch;j", 11, 4}, {"main;x;k", 5}});
  const auto* relu = named(all.functions, "relu_new");
  REQUIRE(relu != nullptr);
  CHECK(relu->change == Change::renamed);
  CHECK(relu->old_name == "relu_old");
  CHECK(relu->total.at(0).ns == 110);
  CHECK(relu->total.at(1).ns == 131);
  CHECK(named(all.functions, "relu_old") == nullptr);
  CHECK(all.paths.size() == 3);
  CHECK(change_of(all, "main;relu_new;launch;k") == Change::renamed);
}

TEST_CASE("a path with an additional function in the middle is the same path") {
  const Comparison all = of({{"main;forward;launch;k", 100, 4}}, {{"main;forward;wrapper;launch;k", 110, 4}});
  REQUIRE(all.paths.size() == 1);
  CHECK(all.paths[0].change == Change::renamed);
  CHECK(test::path_text(all, all.paths[0].old_functions) == "main;forward;launch");
  CHECK(all.paths[0].costs.at(0).ns == 100);
  CHECK(named(all.functions, "wrapper")->change == Change::appeared);
}

TEST_CASE("launches that changed their caller have moved") {
  const Comparison whole = of({{"main;a;k", 100, 10}, {"main;b;j", 1}, {"main;a;j", 1}},
                              {{"main;b;k", 100, 10}, {"main;b;j", 1}, {"main;a;j", 1}});
  CHECK(change_of(whole, "main;a;k") == Change::moved);
  CHECK(change_of(whole, "main;b;k") == Change::moved);
  CHECK(change_of(whole, "main;b;j") == Change::both);
  const Comparison part = of({{"main;a;k", 100, 10}, {"main;b;k", 50, 5}}, {{"main;a;k", 60, 6}, {"main;b;k", 90, 9}});
  CHECK(change_of(part, "main;a;k") == Change::moved);
  CHECK(change_of(part, "main;b;k") == Change::moved);
  const Comparison more =
      of({{"main;a;k", 100, 10}, {"main;b;k", 50, 5}}, {{"main;a;k", 100, 10}, {"main;b;k", 90, 9}});
  CHECK(change_of(more, "main;b;k") == Change::both);
  const Comparison without_stacks = of({{"main;a;k", 100, 10}}, {{"k", 100, 10}});
  CHECK(change_of(without_stacks, "main;a;k") == Change::gone);
  CHECK(change_of(without_stacks, "k") == Change::appeared);
}

TEST_CASE("matching keeps all sums") {
  const Comparison all = of({{"main;a;k<1>", 100, 10}, {"main;old_f;x;q", 7, 3}, {"main;c;z", 13, 1}},
                            {{"main;a;k<2>", 90, 10}, {"main;new_f;x;q", 8, 3}, {"main;d;y", 17, 2}});
  uint64_t sums[2][2] = {};
  for (size_t run = 0; run < 2; ++run) {
    for (const auto& kernel : all.kernels) {
      sums[0][run] += kernel.costs.at(run).ns;
    }
    for (const auto& path : all.paths) {
      sums[1][run] += path.costs.at(run).ns;
    }
    CHECK(sums[0][run] == all.totals.at(run).ns);
    CHECK(sums[1][run] == all.totals.at(run).ns);
  }
}

TEST_CASE("100,000 renamed kernels and 200,000 paths do not take quadratic time") {
  std::vector<test::Launches> nothing;
  Run sides[2] = {small_run(nothing), small_run(nothing)};
  for (uint32_t side = 0; side < 2; ++side) {
    Run& run = sides[side];
    run.functions.push_back({.name = "main", .total = {1, 1}});
    for (uint32_t i = 0; i < 1000; ++i) {
      run.functions.push_back({.name = "f" + std::to_string(i), .total = {1, 1}});
    }
    for (uint32_t i = 0; i < 100000; ++i) {
      const compare::Cost cost{1000 + uint64_t{i} * 7 % 5000, 1 + i % 3};
      run.kernels.push_back({.name = (side == 0 ? "old" : "new") + std::string("_k") + std::to_string(i) + "_end",
                             .cost = {2 * cost.ns, 2 * cost.count}});
      for (uint32_t j = 0; j < 2; ++j) {
        run.paths.push_back({.kernel = i, .functions = {0, 1 + (i + j) % 1000}, .cost = cost});
      }
    }
  }
  const Comparison all = compare::compare({&sides[0], 1}, {&sides[1], 1});
  CHECK(count(all, Change::renamed) == 100000);
  CHECK(all.paths.size() == 200000);
}
