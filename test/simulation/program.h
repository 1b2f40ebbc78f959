// A made-up program whose runs have a known cost: what `check` is judged by.
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
};  // heavy: Student's t with 3 degrees of freedom, scaled to the same deviation

const char* shape_name(Shape shape);

struct Noise {
  Shape shape = Shape::normal;
  double run = 0.01;     // standard deviation of a typical kernel's logarithm from run to run
  double common = 0.01;  // of what all kernels of a run have in common
};

struct Path {
  std::vector<std::string> functions;
  double ns = 0;
};

struct Kernel {
  std::string name;
  double unlike = 1;  // its noise in parts of a typical kernel's
  std::vector<Path> paths;

  [[nodiscard]] double ns() const;
};

class Program {
 public:
  // Kernels of lognormal weight (sigma 1), their noise lognormal as well (sigma 0.5, within 1/4 and 4 of the typical
  // one), and the cost of each parted at random between its paths.
  Program(size_t kernels, size_t paths, std::mt19937_64& random);

  // A run with names and without costs.
  [[nodiscard]] compare::Run skeleton() const;

  // One run. `skeleton` is the program's; `outlier`: how much longer everything takes in it.
  compare::Run run(const compare::Run& skeleton, const Noise& noise, std::mt19937_64& random, double outlier = 1) const;

  [[nodiscard]] double ns() const;

  std::vector<Kernel> kernels;
};

}  // namespace gpuprof::simulation
