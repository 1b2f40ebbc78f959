// Folds a profile into a flame tree. A pure function of the reader's output.
#pragma once

#include "analyze/aggregate.h"
#include "analyze/flame_tree.h"
#include "analyze/labels.h"
#include "base/result.h"
#include "profile/reader.h"

namespace gpuprof::analyze {

using FoldOptions = LabelOptions;

struct FoldResult : ProfileInfo {
  FlameTree tree;  // its total is the exact sum over all records
};

Result<FoldResult> fold(profile::Reader& reader, const FoldOptions& options = {});

}  // namespace gpuprof::analyze
