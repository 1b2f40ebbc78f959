// Student's t distribution. Degrees of freedom may be fractional or infinite.
#pragma once

namespace gpuprof {

// Returns the regularized incomplete beta function I_x(a, b); a > 0, b > 0.
double incomplete_beta(double a, double b, double x);

// Returns P(T > t) of Student's t distribution; for infinite freedom, of the normal distribution.
double student_t_above(double t, double freedom);

// Returns the t for which student_t_above() is `above`; 0 < above < 1.
double student_t_quantile(double above, double freedom);

}  // namespace gpuprof
