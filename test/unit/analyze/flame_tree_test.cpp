#include "analyze/paths/flame_tree.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "output/folded.h"
#include "output/picture/svg_layout.h"

using namespace gpuprof;
using analyze::FlameTree;
using analyze::FrameClass;
using analyze::LabelId;
using analyze::NodeId;

namespace {

constexpr output::WeightChoice kNs{output::WeightKind::time, output::TimeUnit::ns};
constexpr size_t kAllRows = 1'000'000;

std::string lines(const FlameTree& tree) {
  return output::folded(tree, kNs);
}

FlameTree::Run run(FlameTree& tree, const std::string& names) {
  std::vector<LabelId> labels;
  for (const char name : names) {
    labels.push_back(tree.label(tree.intern(std::string(1, name)), FrameClass::native));
  }
  return tree.keep(labels);
}

}  // namespace

TEST_CASE("a path that ends or branches within a node splits the node") {
  FlameTree tree;
  const NodeId whole = tree.descend(FlameTree::kRoot, run(tree, "abcd"));
  tree.add(whole, {.ns = 1});
  CHECK(tree.nodes().size() == 2);
  const NodeId end = tree.descend(FlameTree::kRoot, run(tree, "ab"));
  tree.add(end, {.ns = 2});
  CHECK(tree.nodes().size() == 3);
  tree.add(tree.descend(FlameTree::kRoot, run(tree, "abce")), {.ns = 4});
  CHECK(tree.nodes().size() == 5);
  tree.add(whole, {.ns = 8});  // `whole` still means the path "abcd", although its node was split
  tree.add(tree.descend(end, run(tree, "cd")), {.ns = 16});
  CHECK(tree.nodes().size() == 5);
  CHECK(lines(tree) == "a;b 2\na;b;c;d 25\na;b;c;e 4\n");
  CHECK(tree.total().ns == 31);
}

TEST_CASE("an empty path below a node is the node itself") {
  FlameTree tree;
  CHECK(tree.descend(FlameTree::kRoot, tree.keep({})) == FlameTree::kRoot);
  const NodeId node = tree.descend(FlameTree::kRoot, run(tree, "ab"));
  CHECK(tree.descend(node, {}) == node);
  CHECK(lines(tree).empty());
}

TEST_CASE("paths added at once and frame by frame give the same lines and pictures") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    FlameTree at_once;
    FlameTree by_frames;
    std::map<std::string, uint64_t> expected;  // names are single letters, so texts are in the order of paths
    for (int path = 0; path < 40; ++path) {
      std::string names;
      std::string text;
      for (size_t length = 1 + random() % 8; length > 0; --length) {
        names += static_cast<char>('a' + random() % 3);
        text.append(text.empty() ? "" : ";").append(1, names.back());
      }
      const uint64_t ns = random() % 5;
      const size_t cut = random() % names.size();
      const NodeId middle = at_once.descend(FlameTree::kRoot, run(at_once, names.substr(0, cut)));
      at_once.add(at_once.descend(middle, run(at_once, names.substr(cut))), {.ns = ns});
      NodeId node = FlameTree::kRoot;
      for (const char name : names) {
        node = by_frames.child(node, std::string(1, name), FrameClass::native);
      }
      by_frames.add(node, {.ns = ns});
      expected[text] += ns;
    }
    std::string text;
    for (const auto& [path, ns] : expected) {
      text += ns == 0 ? "" : path + " " + std::to_string(ns) + "\n";
    }
    CHECK(lines(at_once) == text);
    CHECK(lines(by_frames) == text);
    const size_t most = round % 2 == 0 ? kAllRows : 1 + random() % 30;
    const size_t depth = round % 3 == 0 ? 4 : kAllRows;
    const auto one = output::lay_out(at_once, output::WeightKind::time, most, depth);
    const auto other = output::lay_out(by_frames, output::WeightKind::time, most, depth);
    CHECK(one.left_out == other.left_out);
    REQUIRE(one.frames.size() == other.frames.size());
    for (size_t i = 0; i < one.frames.size(); ++i) {
      CHECK(one.frames[i].depth == other.frames[i].depth);
      CHECK(one.frames[i].start == other.frames[i].start);
      CHECK(one.frames[i].width == other.frames[i].width);
      CHECK((i == 0 || at_once.name(one.frames[i].label) == by_frames.name(other.frames[i].label)));
    }
  }
}

TEST_CASE("a deep stack below many parents costs one node for each parent") {
  FlameTree tree;
  const FlameTree::Run deep = run(tree, std::string(65536, 'f'));
  for (int i = 0; i < 1000; ++i) {
    const NodeId parent = tree.child(FlameTree::kRoot, "p" + std::to_string(i), FrameClass::process);
    tree.add(tree.descend(parent, deep), {.ns = 1});
  }
  CHECK(tree.nodes().size() == 2001);
  const auto layout = output::lay_out(tree, output::WeightKind::time, 1000, 100);
  CHECK(layout.frames.size() == 1000);
  CHECK(layout.left_out == size_t{1000} * 65537 + 1 - 1000);
}
