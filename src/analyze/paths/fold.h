// Folds a profile into a flame tree. A pure function of the reader's output.
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
  filter,  // only work inside of the wanted range; ranges are no frames
  off,
};

struct FoldOptions {
  StackOptions stacks;
  GraphStacks graph = GraphStacks::both;
  std::vector<Dimension> by;  // frames above that of the process, in this order
  RangeFrames ranges = RangeFrames::frames;
  std::string range;   // of `filter`: NAME, or NAME@DOMAIN; empty: any range
  bool spread = true;  // work whose launch has no stack by choice is spread over the stacks of the same work
  Measure measure = Measure::gpu;  // what the tree's weights are
  // Below kernels that have samples. None: line and stall, or nothing where the samples tell nothing; of samples alone
  // all but functions.
  std::optional<Leaves> leaves;
};

// How the time of kernels was shared out among their samples, in gpu, busy and exclusive.
struct SharedOut {
  uint64_t samples = 0;            // among these
  uint64_t without_lines = 0;      // of these: their module does not say what source they are of
  uint64_t without_in_zebins = 0;  // of those: in code of Intel's compiler
  uint64_t untimed = 0;            // all others, of work whose time is not known or 0
};

struct FoldResult : ProfileInfo {
  FlameTree tree;      // its total is the exact sum over all records that are folded
  Weight spread;       // the part that was spread over the stacks of other launches
  Weight not_sampled;  // the part below "[stack not sampled]"
  bool has_shares = false;
  Leaves leaves;  // that were chosen
  SharedOut shared_out;
  StackView::Trimmed trimmed;
};

Result<FoldResult> fold(profile::Reader& reader, const FoldOptions& options = {});

// What has to be kept of a profile for the measure.
AggregateOptions needed_for(Measure measure);

// The same of what has been read already, with what is needed_for() the measure.
FoldResult fold(const Aggregate& rows, const FoldOptions& options);

}  // namespace gpuprof::analyze
