#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/names/labels.h"
#include "analyze/paths/flame_tree.h"
#include "analyze/paths/stack_view.h"
#include "analyze/paths/work_paths.h"
#include "analyze/rows/aggregate.h"
#include "analyze/rows/dimensions.h"
#include "analyze/rows/measure.h"
#include "analyze/stalls/leaf.h"
#include "base/result.h"
#include "profile/reader.h"

namespace gpuprof::analyze {

enum class RangeFrames : uint8_t {
  frames,  // NVTX ranges are frames between the process and the stack
  filter,  // include only work in the selected range, without frames for ranges
  off,
};

struct FoldOptions {
  StackOptions stacks;
  GraphStacks graph = GraphStacks::both;
  std::vector<Dimension> by;  // dimensions shown as frames around the process frame, outermost first
  RangeFrames ranges = RangeFrames::frames;
  std::string range;   // for RangeFrames::filter: NAME or NAME@DOMAIN, or empty for any range
  bool spread = true;  // extrapolate work without a sampled stack to the stacks of sampled launches of the same work
  Measure measure = Measure::gpu;
  // Kinds of frames below kernels with samples. nullopt selects a default. If the tree measures samples, it is all
  // kinds but `function`. Otherwise it is `line` and `stall`, or no frames if many samples were lost.
  std::optional<Leaves> leaves;
};

// The samples among which the time of kernels was apportioned. Only for Measure::gpu, busy and exclusive.
struct Apportioned {
  uint64_t samples = 0;
  uint64_t without_lines = 0;      // samples whose module has no line information
  uint64_t without_in_zebins = 0;  // those of `without_lines` that are in code of Intel's compiler
  uint64_t untimed = 0;            // samples that could not be used, because the time of their work is unknown or 0
};

struct FoldResult : ProfileInfo {
  FlameTree tree;      // the total of the tree is exactly the sum of the records' weights
  Weight spread;       // part of the total that was extrapolated to stacks of other launches
  Weight not_sampled;  // part of the total below "[stack not sampled]"
  bool has_shares = false;
  Leaves leaves;
  Apportioned apportioned;
  StackView::Trimmed trimmed;
};

Result<FoldResult> fold(profile::Reader& reader, const FoldOptions& options = {});

// Returns what aggregate() must collect for the measure.
AggregateOptions needed_for(Measure measure);

// Folds rows that were aggregated with needed_for(options.measure).
FoldResult fold(const Aggregate& rows, const FoldOptions& options);

}  // namespace gpuprof::analyze
