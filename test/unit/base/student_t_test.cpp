// Expected values come from R 4.2.2 (pt, qt, pbeta).
#include "base/student_t.h"

#include <cmath>
#include <limits>

#include "catch.h"

using namespace gpuprof;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool is_near(double value, double expected) {
  CAPTURE(value, expected);
  return std::abs(value - expected) <= 1e-9 * std::max(std::abs(expected), 1e-12);
}

}  // namespace

TEST_CASE("Student's t has R's upper tail probabilities") {
  CHECK(is_near(student_t_above(2, 8), 0.0402581189786313));
  CHECK(is_near(student_t_above(3.355387, 8), 0.00500000245883666));
  CHECK(is_near(student_t_above(10, 2.5), 0.00222074788365371));
  CHECK(is_near(student_t_above(1, 1e9), 0.158655254052443));
  CHECK(is_near(student_t_above(-1.5, 4), 0.896));
  CHECK(is_near(student_t_above(40, 8), 8.39285943957289e-11));
  CHECK(student_t_above(kInfinite, 8) == 0);
  CHECK(student_t_above(-kInfinite, 8) == 1);
}

TEST_CASE("Student's t has R's quantiles") {
  CHECK(is_near(student_t_quantile(0.005, 8), 3.3553873313334));
  CHECK(is_near(student_t_quantile(0.00066666, 20.5), 3.71188976247808));
  CHECK(is_near(student_t_quantile(0.2, 3), 0.978472312363304));
  CHECK(is_near(student_t_quantile(0.025, kInfinite), 1.95996398454005));
  CHECK(is_near(student_t_quantile(0.9, 4), -1.53320627405894));
  CHECK(student_t_quantile(0.5, 4) == 0);
}

TEST_CASE("the incomplete beta function has R's values") {
  CHECK(is_near(incomplete_beta(2, 3, 0.3), 0.3483));
  CHECK(is_near(incomplete_beta(0.5, 10, 0.9), 0.99999999998152));
  CHECK(is_near(incomplete_beta(4, 0.5, 0.01), 2.74538135142481e-09));
  CHECK(incomplete_beta(2, 3, 0) == 0);
  CHECK(incomplete_beta(2, 3, 1) == 1);
}
