// Summarizes what kernels waited for, and where: their samples by reason and by source line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "analyze/stalls/stall_slices.h"

namespace gpuprof::analyze {

struct StallLine {
  std::string_view reason;
  uint64_t samples = 0;
  Interval share;  // 95% confidence interval of the reason's share of the kernel's samples
};

// A source line with samples. `function` is the innermost inlined function.
struct HotLine {
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;
  uint64_t samples = 0;
};

// A line whose instructions wait for results of another line.
struct AwaitedLine {
  std::string_view file;  // file and line of the instructions that wait
  uint32_t line = 0;
  // What they wait for: the kind of instruction at awaited_file and awaited_line, such as "load".
  std::string_view what;
  std::string_view awaited_file;
  uint32_t awaited_line = 0;
  uint64_t samples = 0;
};

struct KernelStalls {
  std::string_view kernel;
  uint64_t samples = 0;
  uint64_t estimated = 0;          // number of samples that were attributed by an estimate
  uint64_t without_lines = 0;      // number of samples whose module has no line information
  uint64_t without_in_zebins = 0;  // those of without_lines that are in code of Intel's compiler
  std::vector<StallLine> reasons;  // sorted by samples, most first, as are the other lists
  std::vector<HotLine> lines;
  std::vector<AwaitedLine> awaited;  // at most lines.size() entries; empty if instructions were not analyzed
  size_t found_reasons = 0;
  size_t found_lines = 0;
};

// Sums the samples of kernels by the label of their work.
class StallTable {
 public:
  explicit StallTable(const Aggregate& rows) : rows_(rows) {}

  // `kernel` must outlive the table.
  void add(const SampleRow& row, std::string_view kernel);

  // Maximum numbers of kernels, and of reasons and lines per kernel; 0: all.
  struct Limits {
    size_t kernels = 0;
    size_t reasons = 0;
    size_t lines = 0;
  };
  // Returns the heaviest kernels by `weight_of`. Ties are ordered by samples, then by name.
  template <typename WeightOf>
  [[nodiscard]] std::vector<KernelStalls> heaviest(const Limits& limits, WeightOf weight_of) const {
    std::vector<std::pair<uint64_t, size_t>> order;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      order.emplace_back(weight_of(kernels_[i].name), i);
    }
    return take(std::move(order), limits);
  }

  [[nodiscard]] size_t size() const { return kernels_.size(); }
  [[nodiscard]] uint64_t without_lines() const { return without_lines_; }
  [[nodiscard]] uint64_t without_in_zebins() const { return without_in_zebins_; }

 private:
  struct Kernel {
    std::string_view name;
    profile::StringId id{};
    uint64_t samples = 0;
    uint64_t estimated = 0;
    uint64_t without_lines = 0;
    uint64_t without_in_zebins = 0;
    std::unordered_map<uint32_t, uint64_t> reasons;
    std::unordered_map<uint32_t, uint64_t> lines;  // samples; key: index of a frame in the tables
    // Key: id of a code location whose instruction waits for another one.
    std::unordered_map<uint32_t, uint64_t> waiting;
  };

  size_t position_of(const profile::Work& work, std::string_view kernel, bool one_of_many);
  [[nodiscard]] std::vector<KernelStalls> take(std::vector<std::pair<uint64_t, size_t>> order,
                                               const Limits& limits) const;
  void put_reasons(const Kernel& kernel, size_t most, KernelStalls& to) const;
  void put_lines(const Kernel& kernel, size_t most, KernelStalls& to) const;
  void put_awaited(const Kernel& kernel, size_t most, KernelStalls& to) const;

  const Aggregate& rows_;
  std::vector<Kernel> kernels_;
  std::unordered_map<std::string_view, size_t> positions_;
  std::unordered_map<uint32_t, size_t> by_work_;
  uint64_t without_lines_ = 0;
  uint64_t without_in_zebins_ = 0;
};

}  // namespace gpuprof::analyze
