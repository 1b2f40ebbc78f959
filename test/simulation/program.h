// A simulated program whose runs have a known cost. `check` is tested against it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "compare/run.h"

namespace gpuprof::simulation {

enum class Shape : uint8_t {
  normal,
  heavy
};  // heavy: Student's t with 3 degrees of freedom, scaled to the same standard deviation

const char* shape_name(Shape shape);

struct Noise {
  Shape shape = Shape::normal;
  double run = 0.01;     // standard deviation of the logarithm of a typical kernel's time from run to run
  double common = 0.01;  // standard deviation of the factor that all kernels of a run share
};

struct Path {
  std::vector<std::string> functions;
  double ns = 0;
};

struct Kernel {
  std::string name;
  double unlike = 1;  // noise relative to a typical kernel's
  std::vector<Path> paths;

  [[nodiscard]] double ns() const;
};

class Program {
 public:
  // Draws kernels with lognormal weights (sigma 1). Their noise factors are lognormal too (sigma 0.5, between 1/4 and
  // 4). The cost of each kernel is split at random between its paths.
  Program(size_t kernels, size_t paths, std::mt19937_64& random);

  // Returns a run with names but no costs.
  [[nodiscard]] compare::Run skeleton() const;

  // Simulates one run. `skeleton` is the result of skeleton(). All times of the run are multiplied by `outlier`.
  compare::Run run(const compare::Run& skeleton, const Noise& noise, std::mt19937_64& random, double outlier = 1) const;

  [[nodiscard]] double ns() const;

  std::vector<Kernel> kernels;
};

}  // namespace gpuprof::simulation
