#include "base/student_t.h"

#include <cmath>
#include <numbers>

namespace gpuprof {
namespace {

// Evaluates the continued fraction of I_x(a, b) with Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kPrecision = 1e-15;
  constexpr int kMostTerms = 10'000;
  const auto off_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / off_zero(1 - ((a + b) * x / (a + 1)));
  double fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / off_zero(1 + (even * d));
    c = off_zero(1 + (even / c));
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / off_zero(1 + (odd * d));
    c = off_zero(1 + (odd / c));
    fraction *= d * c;
    if (std::abs((d * c) - 1) < kPrecision) {
      break;
    }
  }
  return fraction;
}

constexpr double kAsNormal = 1e8;  // with more degrees of freedom, use the normal distribution

double student_t_density(double t, double freedom) {
  if (freedom > kAsNormal) {
    return std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
  }
  return std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2) -
                  ((freedom + 1) / 2 * std::log1p(t * t / freedom))) /
         std::sqrt(freedom * std::numbers::pi);
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + (a * std::log(x)) + (b * std::log1p(-x)));
  // The fraction converges quickly only for x below the mean. Otherwise use the symmetry of I_x.
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - (front * beta_fraction(b, a, 1 - x) / b);
}

double student_t_above(double t, double freedom) {
  if (std::isinf(t)) {
    return t > 0 ? 0 : 1;
  }
  if (freedom > kAsNormal) {
    return std::erfc(t / std::sqrt(2.0)) / 2;
  }
  const double tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + (t * t))) / 2;
  return t >= 0 ? tail : 1 - tail;
}

// Newton's method that starts at 0 never overshoots, because the tail is convex.
double student_t_quantile(double above, double freedom) {
  if (above > 0.5) {
    return -student_t_quantile(1 - above, freedom);
  }
  constexpr int kMostSteps = 1000;
  constexpr double kPrecision = 1e-14;
  double t = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    const double step = (student_t_above(t, freedom) - above) / student_t_density(t, freedom);
    if (!(step > kPrecision * t)) {
      break;
    }
    t += step;
  }
  return t;
}

}  // namespace gpuprof
