#include "simulation/program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace gpuprof::simulation {
namespace {

constexpr double kTypicalNs = 1e7;
constexpr uint64_t kLaunches = 10;  // launches per path
constexpr double kPathNoise = 0.5;  // noise of a path, relative to its kernel's noise
constexpr double kUnlike = 0.5;     // sigma of the noise factors of kernels
constexpr double kMostUnlike = 4;
constexpr size_t kFunctions = 40;

double normal(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

double deviation(Shape shape, std::mt19937_64& random) {
  if (shape == Shape::normal) {
    return normal(random);
  }
  constexpr double kFreedom = 3;
  const double scale = std::sqrt(kFreedom / (kFreedom - 2));
  return std::student_t_distribution<double>(kFreedom)(random) / scale;
}

}  // namespace

const char* shape_name(Shape shape) {
  return shape == Shape::normal ? "normal" : "heavy";
}

double Kernel::ns() const {
  return std::accumulate(paths.begin(), paths.end(), 0.0, [](double sum, const Path& path) { return sum + path.ns; });
}

double Program::ns() const {
  return std::accumulate(kernels.begin(), kernels.end(), 0.0,
                         [](double sum, const Kernel& kernel) { return sum + kernel.ns(); });
}

Program::Program(size_t kernel_count, size_t path_count, std::mt19937_64& random) {
  for (size_t k = 0; k < kernel_count; ++k) {
    Kernel kernel;
    kernel.name = "void kernel_" + std::to_string(k) + "<float, " + std::to_string(random() % 64) + ">(float*)";
    kernel.unlike = std::clamp(std::exp(kUnlike * normal(random)), 1 / kMostUnlike, kMostUnlike);
    const double weight = kTypicalNs * std::exp(normal(random));
    const size_t paths = std::max<size_t>(1, path_count / kernel_count);
    double parts = 0;
    for (size_t p = 0; p < paths; ++p) {
      Path path;
      path.functions = {"main", "step", "function_" + std::to_string(random() % kFunctions),
                        "caller_" + std::to_string(k) + "_" + std::to_string(p)};
      path.ns = std::exponential_distribution<double>()(random) + 0.05;
      parts += path.ns;
      kernel.paths.push_back(std::move(path));
    }
    for (Path& path : kernel.paths) {
      path.ns *= weight / parts;
    }
    kernels.push_back(std::move(kernel));
  }
}

compare::Run Program::skeleton() const {
  compare::Run run;
  run.facts.info.kind = analyze::ProfileKind::durations;
  run.facts.info.complete = true;
  run.facts.exit_status = "0";
  run.facts.devices = {"Simulated GPU"};
  std::map<std::string, uint32_t> functions;
  for (const Kernel& kernel : kernels) {
    for (const Path& from : kernel.paths) {
      compare::Path path;
      path.kernel = static_cast<uint32_t>(run.kernels.size());
      for (const std::string& name : from.functions) {
        const auto [at, is_new] = functions.try_emplace(name, static_cast<uint32_t>(run.functions.size()));
        if (is_new) {
          run.functions.emplace_back().name = name;
        }
        path.functions.push_back(at->second);
      }
      run.paths.push_back(std::move(path));
    }
    run.kernels.emplace_back().name = kernel.name;
  }
  return run;
}

compare::Run Program::run(const compare::Run& skeleton, const Noise& noise, std::mt19937_64& random,
                          double outlier) const {
  compare::Run run = skeleton;
  const double common = std::log(outlier) + (noise.common * deviation(noise.shape, random));
  size_t at = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const double spread = noise.run * kernels[k].unlike;
    const double own = common + (spread * deviation(noise.shape, random));
    for (const Path& from : kernels[k].paths) {
      const double ns = from.ns * std::exp(own + (spread * kPathNoise * deviation(noise.shape, random)));
      compare::Path& path = run.paths[at++];
      path.cost = {.ns = static_cast<uint64_t>(ns), .count = kLaunches};
      for (const uint32_t function : path.functions) {
        run.functions[function].total += path.cost;
      }
      run.functions[path.functions.back()].direct += path.cost;
      run.kernels[k].cost += path.cost;
    }
    run.total += run.kernels[k].cost;
  }
  return run;
}

}  // namespace gpuprof::simulation
