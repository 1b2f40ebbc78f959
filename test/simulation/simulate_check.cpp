// simulate_check [--quick] [--comparisons N] [--seed N] [--only TEXT]
// Measures how often `check` reports a regression when nothing has changed, and how often it finds a real one. Prints a
// table. The exit status is 1 if a figure misses its bound.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison.h"
#include "compare/judge/judge.h"
#include "simulation/program.h"

namespace gpuprof::simulation {
namespace {

using compare::Finding;
using compare::Judgement;
using compare::Outcome;
using compare::Verdict;

struct Options {
  size_t comparisons = 2000;  // per cell of the table
  uint64_t seed = 1;
  bool quick = false;
  std::string only;
};

struct Compared {
  std::vector<compare::Run> old_runs;
  std::vector<compare::Run> new_runs;
  compare::Comparison comparison;
  Judgement judgement;
};

struct Sides {
  const Program& before;
  const Program& after;
  size_t runs = 5;
  double outlier = 1;  // the times of the new side's first run are multiplied by this
};

void compare_and_judge(const Sides& sides, const Noise& noise, std::mt19937_64& random, Compared& result) {
  const compare::Run before = sides.before.skeleton();
  const compare::Run after = sides.after.skeleton();
  for (size_t run = 0; run < sides.runs; ++run) {
    result.old_runs.push_back(sides.before.run(before, noise, random));
    result.new_runs.push_back(sides.after.run(after, noise, random, run == 0 ? sides.outlier : 1));
  }
  result.comparison = compare::compare(result.old_runs, result.new_runs);
  result.judgement = compare::judge(result.comparison, {});
}

bool is_slower(const Compared& result, Finding::What what, std::string_view kernel = {}) {
  return std::any_of(result.judgement.findings.begin(), result.judgement.findings.end(), [&](const Finding& finding) {
    return finding.what == what && finding.verdict == Verdict::slower &&
           (kernel.empty() || result.comparison.kernels[finding.line].name == kernel);
  });
}

class Table {
 public:
  explicit Table(Options options) : options_(std::move(options)) {}

  // A trial makes one comparison and returns whether the counted event occurred. Each cell has its own random sequence.
  using Trial = std::function<bool(std::mt19937_64&)>;
  double share(const std::string& cell, size_t comparisons, const Trial& trial) {
    std::vector<uint64_t> seeds(cell.begin(), cell.end());
    seeds.push_back(options_.seed);
    std::seed_seq sequence(seeds.begin(), seeds.end());
    std::mt19937_64 random(sequence);
    size_t happened = 0;
    for (size_t i = 0; i < comparisons; ++i) {
      happened += trial(random) ? 1 : 0;
    }
    return 100 * static_cast<double>(happened) / static_cast<double>(comparisons);
  }

  void at_most(const std::string& name, double percent, double bound) {
    row(name, percent, "<=", bound, percent <= bound + chance(bound));
  }
  void at_least(const std::string& name, double percent, double bound) {
    row(name, percent, ">=", bound, percent >= bound - chance(bound));
  }
  [[nodiscard]] bool wanted(std::string_view name) const {
    return options_.only.empty() || name.find(options_.only) != name.npos;
  }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  // The quick form makes few comparisons, so the bounds allow three standard deviations for chance.
  [[nodiscard]] double chance(double bound) const {
    return options_.quick ? 3 * std::sqrt(bound * (100 - bound) / static_cast<double>(options_.comparisons)) : 0;
  }

  void row(const std::string& name, double percent, const char* relation, double bound, bool good) {
    std::printf("%-64s %6.2f%%  %s %5.1f%%%s\n", name.c_str(), percent, relation, bound, good ? "" : "  MISSED");
    static_cast<void>(std::fflush(stdout));
    failed_ = failed_ || !good;
  }

  Options options_;
  bool failed_ = false;
};

constexpr size_t kKernels = 30;
constexpr size_t kPathsOfKernel = 10;
constexpr size_t kPaths = kKernels * kPathsOfKernel;

std::string cell_name(std::string_view what, const Noise& noise, size_t runs) {
  char text[128];
  static_cast<void>(std::snprintf(text, sizeof(text), "%.*s, %s noise %g%%, %zu runs", static_cast<int>(what.size()),
                                  what.data(), shape_name(noise.shape), 100 * noise.run, runs));
  return text;
}

double alarms_of(Table& table, const std::string& cell, size_t kernels, const Noise& noise, size_t runs) {
  const double alarms = table.share(cell, table.options().comparisons, [&](std::mt19937_64& random) {
    const Program program(kernels, kernels * kPathsOfKernel, random);
    Compared result;
    compare_and_judge({.before = program, .after = program, .runs = runs}, noise, random, result);
    return result.judgement.outcome == Outcome::regression;
  });
  table.at_most(cell, alarms, 2);
  return alarms;
}

void false_alarms(Table& table) {
  const bool quick = table.options().quick;
  const std::vector<size_t> sizes = quick ? std::vector<size_t>{5} : std::vector<size_t>{3, 5, 8, 10};
  const std::vector<double> noises =
      quick ? std::vector<double>{0.01, 0.1} : std::vector<double>{0.005, 0.01, 0.02, 0.05, 0.1};
  double sum = 0;
  double cells = 0;
  for (const size_t runs : sizes) {
    for (const Shape shape : {Shape::normal, Shape::heavy}) {
      for (const double level : noises) {
        const Noise noise{.shape = shape, .run = level, .common = level};
        sum += alarms_of(table, cell_name("unchanged: alarms", noise, runs), kKernels, noise, runs);
        cells += 1;
      }
    }
  }
  table.at_most("unchanged: alarms, mean of all cells", sum / cells, 1);
}

// Counts false alarms for programs with few kernels, where the variance between runs is poorly known.
void false_alarms_of_few(Table& table) {
  for (const size_t kernels : {3, 9, 10, 12, 15, 20}) {
    for (const size_t runs : {3, 5, 8}) {
      for (const Shape shape : {Shape::normal, Shape::heavy}) {
        for (const double level : {0.01, 0.1}) {
          const Noise noise{.shape = shape, .run = level, .common = level};
          const std::string what = std::to_string(kernels) + " kernels, unchanged: alarms";
          if (!table.options().quick || (kernels == 10 && shape == Shape::normal)) {
            alarms_of(table, cell_name(what, noise, runs), kernels, noise, runs);
          }
        }
      }
    }
  }
}

// Slows a kernel by at least 0.15% of all GPU time, which is clearly material.
size_t heavy_kernel(const Program& program, double factor, std::mt19937_64& random) {
  std::vector<size_t> heavy;
  size_t heaviest = 0;
  const double all = program.ns();
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    if (program.kernels[k].ns() * (factor - 1) > 0.0015 * all) {
      heavy.push_back(k);
    }
    if (program.kernels[k].ns() > program.kernels[heaviest].ns()) {
      heaviest = k;
    }
  }
  return heavy.empty() ? heaviest : heavy[random() % heavy.size()];
}

void slow_down(Kernel& kernel, double factor) {
  for (Path& path : kernel.paths) {
    path.ns *= factor;
  }
}

double found(Table& table, const std::string& cell, double factor, const Noise& noise, size_t runs,
             double outlier = 1) {
  return table.share(cell, table.options().comparisons, [&](std::mt19937_64& random) {
    const Program before(kKernels, kPaths, random);
    Program after = before;
    Kernel& kernel = after.kernels[heavy_kernel(after, factor, random)];
    slow_down(kernel, factor);
    Compared result;
    compare_and_judge({.before = before, .after = after, .runs = runs, .outlier = outlier}, noise, random, result);
    return result.judgement.outcome == Outcome::regression && is_slower(result, Finding::What::kernel, kernel.name);
  });
}

void one_slower_kernel(Table& table) {
  struct Cell {
    double factor;
    double noise;
    size_t runs;
    double bound;
  };
  const std::vector<Cell> cells{{1.1, 0.01, 5, 98}, {1.1, 0.02, 5, 85},   {1.1, 0.01, 8, 99},
                                {1.1, 0.02, 8, 94}, {1.03, 0.005, 5, 92}, {1.03, 0.005, 8, 96}};
  for (const Shape shape : {Shape::normal, Shape::heavy}) {
    for (const Cell& cell : cells) {
      const Noise noise{.shape = shape, .run = cell.noise, .common = cell.noise};
      const std::string what = cell.factor > 1.05 ? "a kernel 10% slower: found" : "a kernel 3% slower: found";
      const std::string name = cell_name(what, noise, cell.runs);
      table.at_least(name, found(table, name, cell.factor, noise, cell.runs), cell.bound);
    }
  }
}

void renamed_and_moved(Table& table) {
  const Noise noise;
  const auto renamed = [&](bool alike) {
    return table.share(alike ? "other arguments" : "other names", 20, [&](std::mt19937_64& random) {
      const Program before(kKernels, kPaths, random);
      Program after = before;
      for (size_t k = 0; k < after.kernels.size(); ++k) {
        std::string& name = after.kernels[k].name;
        name = alike ? name.substr(0, name.find('<')) + "<double, 7>(double*)" : "other_" + std::to_string(random());
      }
      Compared result;
      compare_and_judge({.before = before, .after = after}, noise, random, result);
      return result.judgement.outcome == Outcome::regression;
    });
  };
  table.at_most("all kernels have other template arguments: alarms", renamed(true), 0);
  table.at_most("all kernels have other names: alarms", renamed(false), 0);
  const double moved = table.share("moved", 20, [&](std::mt19937_64& random) {
    const Program before(kKernels, kPaths, random);
    Program after = before;
    Kernel& kernel = after.kernels[heavy_kernel(after, 1.1, random)];
    std::max_element(kernel.paths.begin(), kernel.paths.end(), [](const Path& a, const Path& b) {
      return a.ns < b.ns;
    })->functions = {"main", "step", "another", "caller_new"};
    Compared result;
    compare_and_judge({.before = before, .after = after}, noise, random, result);
    const auto& findings = result.judgement.findings;
    return result.judgement.outcome == Outcome::pass &&
           std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
             return finding.what == Finding::What::kernel && finding.verdict == Verdict::moved &&
                    result.comparison.kernels[finding.line].name == kernel.name;
           });
  });
  table.at_least("a kernel's path has another caller: moved", moved, 100);
}

void few_kernels(Table& table) {
  const Noise noise;
  for (const bool changed : {false, true}) {
    const double alarms =
        table.share(changed ? "one" : "one, unchanged", table.options().comparisons, [&](std::mt19937_64& random) {
          Program before(1, 1, random);
          before.kernels[0].unlike = 1;
          Program after = before;
          if (changed) {
            slow_down(after.kernels[0], 1.1);
          }
          Compared result;
          compare_and_judge({.before = before, .after = after}, noise, random, result);
          return result.judgement.outcome == Outcome::regression;
        });
    if (changed) {
      table.at_least("one kernel in the program, 10% slower: found", alarms, 95);
    } else {
      table.at_most("one kernel in the program, unchanged: alarms", alarms, 2);
    }
  }
  // If one of 3 kernels is 50% slower, a check should rarely pass, even on a noisy machine.
  for (const double level : {0.05, 0.1, 0.2}) {
    for (const size_t runs : {5, 8}) {
      const Noise box{.shape = Shape::heavy, .run = level, .common = level};
      const std::string name = cell_name("3 kernels, one 50% slower: green", box, runs);
      const double green = table.share(name, table.options().comparisons, [&](std::mt19937_64& random) {
        const Program before(3, 12, random);
        Program after = before;
        slow_down(*std::max_element(after.kernels.begin(), after.kernels.end(),
                                    [](const Kernel& a, const Kernel& b) { return a.ns() < b.ns(); }),
                  1.5);
        Compared result;
        compare_and_judge({.before = before, .after = after, .runs = runs}, box, random, result);
        return result.judgement.outcome == Outcome::pass;
      });
      table.at_most(name, green, 3);
    }
  }
}

// Slows one of thirty kernels of equal weight, so that no kernel has a tenth of the time. The total grows by 5%.
void equal_kernels(Table& table) {
  for (const double level : {0.02, 0.1, 0.2}) {
    for (const size_t runs : {5, 8}) {
      const Noise noise{.run = level, .common = level};
      const std::string name = cell_name("one of 30 equal kernels 2.5 times as slow: green", noise, runs);
      const double green = table.share(name, table.options().comparisons, [&](std::mt19937_64& random) {
        Program before(kKernels, kPaths, random);
        for (Kernel& kernel : before.kernels) {
          slow_down(kernel, 1e7 / kernel.ns());
        }
        Program after = before;
        slow_down(after.kernels.front(), 2.5);
        Compared result;
        compare_and_judge({.before = before, .after = after, .runs = runs}, noise, random, result);
        return result.judgement.outcome == Outcome::pass;
      });
      table.at_most(name, green, 3);
    }
  }
}

void all_alike(Table& table) {
  for (const double factor : {1.05, 1.1}) {
    const std::string name =
        factor > 1.06 ? "all kernels 10% slower alike: the total" : "all kernels 5% slower alike: the total";
    const double flagged = table.share(name, table.options().comparisons, [&](std::mt19937_64& random) {
      const Program before(kKernels, kPaths, random);
      Program after = before;
      for (Kernel& kernel : after.kernels) {
        slow_down(kernel, factor);
      }
      Compared result;
      compare_and_judge({.before = before, .after = after}, {}, random, result);
      return is_slower(result, Finding::What::total) && result.judgement.outcome == Outcome::regression;
    });
    table.at_least(name, flagged, factor > 1.06 ? 99 : 90);
  }
}

// Slows most kernels. The check may mistake this for a common factor of the run. The total is too noisy to show the
// difference.
void most_slower(Table& table) {
  constexpr size_t kAll = 12;
  constexpr size_t kSlower = 7;
  const Noise noise{.run = 0.005, .common = 0.05};
  const double green = table.share("most", table.options().comparisons, [&](std::mt19937_64& random) {
    const Program before(kAll, kAll, random);
    Program after = before;
    for (size_t k = 0; k < kSlower; ++k) {
      slow_down(after.kernels[k], 1.1);
    }
    Compared result;
    compare_and_judge({.before = before, .after = after}, noise, random, result);
    return result.judgement.outcome == Outcome::pass;
  });
  table.at_most("7 of 12 kernels 10% slower, 5% in common: green", green, 5);
}

void outlier(Table& table) {
  const Noise noise;
  const double alarms = table.share("outlier", table.options().comparisons, [&](std::mt19937_64& random) {
    const Program program(kKernels, kPaths, random);
    Compared result;
    compare_and_judge({.before = program, .after = program, .runs = 5, .outlier = 2}, noise, random, result);
    return result.judgement.outcome == Outcome::regression;
  });
  table.at_most("one of 5 new runs takes twice as long, unchanged: alarms", alarms, 2);
  const std::string name = "one of 5 new runs takes twice as long, a kernel 10% slower: found";
  table.at_least(name, found(table, name, 1.1, noise, 5, 2), 98);
}

void new_kernel(Table& table) {
  for (const bool replaced : {false, true}) {
    const double alarms =
        table.share(replaced ? "replaced" : "added", table.options().comparisons, [&](std::mt19937_64& random) {
          const Program before(kKernels, kPaths, random);
          Program after = before;
          Kernel added{.name = "completely_new_thing", .unlike = 1, .paths = {}};
          added.paths.push_back({.functions = {"main", "another_step", "launch_new"}, .ns = 0.05 * before.ns()});
          if (replaced) {
            added.paths.front().ns = after.kernels.front().ns();
            after.kernels.erase(after.kernels.begin());
          }
          after.kernels.push_back(added);
          Compared result;
          compare_and_judge({.before = before, .after = after}, {}, random, result);
          return result.judgement.outcome == Outcome::regression;
        });
    if (replaced) {
      table.at_most("a new kernel takes the place of another one: alarms", alarms, 2);
    } else {
      table.at_least("a new kernel adds 5%: found", alarms, 95);
    }
  }
}

int simulate(const Options& options) {
  Table table(options);
  const std::vector<std::pair<const char*, void (*)(Table&)>> parts{
      {"alarms", false_alarms},       {"kernels", false_alarms_of_few},
      {"equal", equal_kernels},       {"found", one_slower_kernel},
      {"renamed", renamed_and_moved}, {"few", few_kernels},
      {"alike", all_alike},           {"most", most_slower},
      {"outlier", outlier},           {"new", new_kernel}};
  for (const auto& [name, part] : parts) {
    if (table.wanted(name)) {
      part(table);
    }
  }
  return table.failed() ? 1 : 0;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--quick") {
      options.quick = true;
      options.comparisons = 200;
    } else if (option == "--comparisons" && has_value) {
      options.comparisons = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--seed" && has_value) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--only" && has_value) {
      options.only = argv[++i];
    } else {
      return false;
    }
  }
  return options.comparisons > 0;
}

}  // namespace
}  // namespace gpuprof::simulation

int main(int argc, char** argv) {
  gpuprof::simulation::Options options;
  if (!gpuprof::simulation::parse(argc, argv, options)) {
    static_cast<void>(
        std::fprintf(stderr, "usage: %s [--quick] [--comparisons N] [--seed N] [--only PART]\n", argv[0]));
    return 2;
  }
  return gpuprof::simulation::simulate(options);
}
