#include <string>
#include <vector>

#include "analyze/names/labels.h"
#include "analyze/paths/flame_tree.h"
#include "base/text/numbers.h"
#include "output/compare/diff.h"
#include "output/picture/svg.h"

namespace gpuprof::output {
namespace {

using analyze::FlameTree;
using analyze::FrameClass;
using analyze::LabelId;
using analyze::Weight;

FrameClass class_of(const compare::FunctionLine& function) {
  if (function.note) {
    return FrameClass::note;
  }
  return function.file.empty() ? FrameClass::native : FrameClass::python;
}

// Builds a tree of all paths. The new values set the frame widths, and Weight::bytes holds the old values. `inverse`
// swaps old and new.
void build_tree(const DiffLines& lines, bool inverse, FlameTree& tree) {
  std::vector<LabelId> labels;
  labels.reserve(lines.all.functions.size());
  for (const compare::FunctionLine& function : lines.all.functions) {
    labels.push_back(tree.label(tree.intern(function.name), class_of(function)));
  }
  std::vector<LabelId> path;
  for (const DiffLine& line : lines.paths) {
    const compare::PathLine& known = lines.all.paths[line.line];
    const compare::SideCost& shown = inverse ? line.difference.before : line.difference.after;
    const compare::SideCost& other = inverse ? line.difference.after : line.difference.before;
    path.clear();
    for (const uint32_t function : inverse && !known.old_functions.empty() ? known.old_functions : known.functions) {
      path.push_back(labels[function]);
    }
    if (path.empty()) {
      path.push_back(tree.label(tree.intern(analyze::kNoCpuStack), FrameClass::note));
    }
    path.push_back(tree.label(tree.intern(lines.all.kernels[known.kernel].name),
                              lines.measure() == analyze::Measure::gpu ? FrameClass::gpu : FrameClass::event));
    Weight weight{.ns = lines.timed ? shown.value : 0, .bytes = other.value};
    weight.count = lines.timed ? rounded_count(shown) : shown.value;
    tree.add(tree.descend(FlameTree::kRoot, tree.keep(path)), weight);
  }
}

}  // namespace

std::string diff_svg(const DiffLines& lines, bool inverse, const std::string& notice) {
  FlameTree tree;
  build_tree(lines, inverse, tree);
  SvgOptions options;
  options.title = weight_of(lines.measure()).title;
  options.title += inverse ? ", old against new" : ", new against old";
  options.names.time = weight_of(lines.measure()).time_name;
  const auto files = [&](bool old_side) {
    const auto runs = side_of(lines.all, old_side);
    return runs.size() == 1 ? runs[0]->file : std::to_string(runs.size()) + " runs";
  };
  options.subtitle = files(true) + " -> " + files(false);
  options.notice = notice;
  options.weight.kind = lines.timed ? WeightKind::time : WeightKind::count;
  options.difference = SvgDifference{.shows_new = !inverse};
  return svg(tree, options);
}

}  // namespace gpuprof::output
