#include "analyze/ranks/lag.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "catch.h"

using namespace gpuprof::analyze;

namespace {

struct Shape {
  size_t ranks = 4;
  size_t columns = 40;
  double noise = 0.1;  // relative noise of a column
  double memory = 0;   // fraction of a column's noise that carries over to the next column
};

// Returns columns of 100 ms for all ranks, with noise from `seed`.
OwnTimes even(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  OwnTimes own(shape.ranks, std::vector<double>(shape.columns));
  for (auto& rank : own) {
    double kept = normal(random);
    for (double& ns : rank) {
      kept = shape.memory * kept + std::sqrt(1 - shape.memory * shape.memory) * normal(random);
      ns = 1e8 * std::max(0.05, 1 + shape.noise * kept);
    }
  }
  return own;
}

OwnTimes slowed(OwnTimes own, size_t rank, size_t first, double factor) {
  for (size_t column = first; column < own[rank].size(); ++column) {
    own[rank][column] *= factor;
  }
  return own;
}

// Returns the times of each rank on a busy machine. Single columns, or several in sequence, take up to 30% longer.
OwnTimes busy_machine(size_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part;
  OwnTimes own(4, std::vector<double>(columns));
  for (auto& rank : own) {
    double late = 0;
    for (double& ns : rank) {
      late = part(random) < 0.4 ? late : 0.3 * std::pow(part(random), 4);
      ns = 1e8 * (1 + late + 0.02 * part(random));
    }
  }
  return own;
}

}  // namespace

TEST_CASE("lag: an even run names no rank, whatever its noise") {
  size_t named = 0;
  size_t runs = 0;
  for (const size_t ranks : {2, 3, 4, 16}) {
    for (const double noise : {0.001, 0.02, 0.1, 0.4}) {
      for (const double memory : {0.0, 0.3}) {
        for (unsigned seed = 0; seed < 100; ++seed, ++runs) {
          named += find_lags(even({.ranks = ranks, .noise = noise, .memory = memory}, seed), {}).empty() ? 0 : 1;
        }
      }
    }
  }
  INFO(named << " of " << runs);
  CHECK(named * 200 <= runs);
}

TEST_CASE("lag: the slow rank and the beginning of its lag are named") {
  for (const size_t ranks : {2, 3, 4, 16}) {
    for (unsigned seed = 0; seed < 100; ++seed) {
      const size_t slow = seed % ranks;
      const auto lags = find_lags(slowed(even({.ranks = ranks, .noise = 0.05}, seed), slow, 15, 1.5), {});
      INFO(ranks << " ranks, seed " << seed);
      REQUIRE(lags.size() == 1);
      CHECK(lags[0].rank == slow);
      CHECK(lags[0].first >= 14);
      CHECK(lags[0].first <= 16);
      CHECK(lags[0].last >= 38);
      CHECK(lags[0].effect > 0.4);
      CHECK(lags[0].effect < 0.6);
    }
  }
}

TEST_CASE("lag: a lag may end, begin with the run, or hit two ranks at once") {
  OwnTimes own = slowed(even({.noise = 0.02}, 1), 1, 0, 1.3);
  auto lags = find_lags(own, {});
  REQUIRE(lags.size() == 1);
  CHECK(lags[0].first == 0);

  own = even({.noise = 0.02}, 2);
  for (size_t column = 10; column < 26; ++column) {
    own[3][column] *= 1.4;
  }
  lags = find_lags(own, {});
  REQUIRE(lags.size() == 1);
  CHECK(lags[0].rank == 3);
  CHECK(lags[0].first == 10);
  CHECK(lags[0].last == 25);

  lags = find_lags(slowed(slowed(even({.ranks = 8, .noise = 0.02}, 3), 5, 20, 1.2), 2, 10, 1.5), {});
  REQUIRE(lags.size() == 2);
  CHECK(lags[0].rank == 2);  // this rank's lag costs the most time
  CHECK(lags[1].rank == 5);
}

TEST_CASE("lag: small effects, single slow columns and short runs are not reported") {
  CHECK(find_lags(slowed(even({.noise = 0.001}, 4), 0, 5, 1.03), {}).empty());
  CHECK_FALSE(find_lags(slowed(even({.noise = 0.001}, 4), 0, 5, 1.03), {.least_effect = 0.02}).empty());
  OwnTimes own = even({.noise = 0.02}, 5);
  own[2][20] *= 30;
  CHECK(find_lags(own, {}).empty());
  for (size_t column = 10; column < 19; ++column) {  // a busy host can slow down one rank for a while
    own[1][column] *= 1.8;
  }
  CHECK(find_lags(own, {}).empty());
  CHECK(find_lags({{1, 2}, {5, 6}}, {}).empty());
  CHECK(find_lags({}, {}).empty());
  CHECK(find_lags({{0, 0, 0, 0}, {0, 0, 0, 0}}, {}).empty());
}

TEST_CASE("lag: with heavy-tailed noise, a reported start is not too early and within its bounds") {
  size_t named = 0;
  size_t near = 0;
  size_t in_bounds = 0;
  size_t width = 0;
  size_t even_named = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const size_t began = 20 + seed % 30;
    even_named += find_lags(busy_machine(80, seed), {}).empty() ? 0 : 1;
    const auto lags = find_lags(slowed(busy_machine(80, seed), 2, began, 1.3), {});
    if (lags.empty()) {
      continue;
    }
    CHECK(lags[0].rank == 2);
    ++named;
    near += lags[0].first + 2 >= began && lags[0].first <= began + 2 ? 1 : 0;
    in_bounds += lags[0].first_earliest <= began && began <= lags[0].first_latest ? 1 : 0;
    width += lags[0].first_latest - lags[0].first_earliest;
  }
  INFO(named << " named, " << near << " near, " << in_bounds << " in bounds of " << width
             << " columns in all, even: " << even_named);
  CHECK(named >= 390);
  CHECK(near * 100 >= named * 93);
  CHECK(in_bounds * 100 >= named * 95);
  CHECK(width <= 4 * named);
  CHECK(even_named * 50 <= 400);
}
