// Builds runs from short descriptions, without a profile.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/run.h"

namespace gpuprof::test {

struct Launches {
  // Functions, outermost first, then the kernel, such as "main;step;gemm". "lib..." are functions of libraries.
  std::string path;
  uint64_t ns = 0;
  uint64_t count = 1;
};

namespace detail {

inline uint32_t function_of(compare::Run& run, const std::string& name) {
  for (uint32_t i = 0; i < run.functions.size(); ++i) {
    if (run.functions[i].name == name) {
      return i;
    }
  }
  const bool note = name.starts_with("[");
  const auto origin = note                      ? analyze::Origin::none
                      : name.starts_with("lib") ? analyze::Origin::library
                                                : analyze::Origin::own;
  run.functions.push_back({.name = name, .origin = origin, .note = note});
  return static_cast<uint32_t>(run.functions.size() - 1);
}

inline uint32_t kernel_of(compare::Run& run, const std::string& name) {
  for (uint32_t i = 0; i < run.kernels.size(); ++i) {
    if (run.kernels[i].name == name) {
      return i;
    }
  }
  run.kernels.push_back({.name = name});
  return static_cast<uint32_t>(run.kernels.size() - 1);
}

}  // namespace detail

// Builds a run. The paths of `all` must differ.
inline compare::Run small_run(const std::vector<Launches>& all, const std::string& file = "run.txt") {
  compare::Run run;
  run.facts.file = file;
  run.facts.info.kind = analyze::ProfileKind::durations;
  run.facts.info.complete = true;
  for (const Launches& launches : all) {
    const compare::Cost cost{launches.ns, launches.count};
    compare::Path path{.cost = cost};
    std::string rest = launches.path;
    for (size_t end = rest.find(';'); end != std::string::npos; end = rest.find(';')) {
      const uint32_t function = detail::function_of(run, rest.substr(0, end));
      path.functions.push_back(function);
      run.functions[function].total += cost;
      rest.erase(0, end + 1);
    }
    if (!path.functions.empty()) {
      run.functions[path.functions.back()].direct += cost;
    }
    path.kernel = detail::kernel_of(run, rest);
    run.kernels[path.kernel].cost += cost;
    run.total += cost;
    run.paths.push_back(std::move(path));
  }
  return run;
}

// Returns a path as "main;step", with the function names of the new side.
inline std::string path_text(const compare::Comparison& all, const std::vector<uint32_t>& functions) {
  std::string text;
  for (const uint32_t function : functions) {
    text += (text.empty() ? "" : ";") + all.functions[function].name;
  }
  return text;
}

template <typename Lines>
const typename Lines::value_type* named(const Lines& lines, std::string_view name) {
  for (const auto& line : lines) {
    if (line.name == name) {
      return &line;
    }
  }
  return nullptr;
}

}  // namespace gpuprof::test
