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
  double noise = 0.1;  // of a column, as a share
  double memory = 0;   // how much of a column's noise stays for the next one
};

// 100 ms of a column for all ranks, with noise: the seed says which.
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

}  // namespace

TEST_CASE("lag: even runs name nobody, whatever their noise") {
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

TEST_CASE("lag: the slow rank is named, and since when") {
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

TEST_CASE("lag: a lag that ends, one from the beginning, and two ranks at once") {
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
  CHECK(lags[0].rank == 2);  // costs most
  CHECK(lags[1].rank == 5);
}

TEST_CASE("lag: less than the least effect, a single slow column, and too few columns are no lag") {
  CHECK(find_lags(slowed(even({.noise = 0.001}, 4), 0, 5, 1.03), {}).empty());
  CHECK_FALSE(find_lags(slowed(even({.noise = 0.001}, 4), 0, 5, 1.03), {.least_effect = 0.02}).empty());
  OwnTimes own = even({.noise = 0.02}, 5);
  own[2][20] *= 30;
  CHECK(find_lags(own, {}).empty());
  for (size_t column = 10; column < 19; ++column) {  // what a busy host does to a rank for a while
    own[1][column] *= 1.8;
  }
  CHECK(find_lags(own, {}).empty());
  CHECK(find_lags({{1, 2}, {5, 6}}, {}).empty());
  CHECK(find_lags({}, {}).empty());
  CHECK(find_lags({{0, 0, 0, 0}, {0, 0, 0, 0}}, {}).empty());
}
