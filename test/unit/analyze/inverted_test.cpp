#include "analyze/paths/inverted.h"

#include <algorithm>
#include <map>
#include <string>

#include "../catch.h"

namespace gpuprof::analyze {
namespace {

void add(FlameTree& tree, const std::string& path, uint64_t ns) {
  NodeId at = FlameTree::kRoot;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(';', begin), path.size());
    at = tree.child(at, path.substr(begin, end - begin), FrameClass::native);
    begin = end + 1;
  }
  tree.add(at, {ns, 1, 0});
}

std::map<std::string, uint64_t> paths_of(const FlameTree& tree) {
  std::map<std::string, uint64_t> paths;
  for (const FlameTree::Node& leaf : tree.nodes()) {
    if (tree.self(leaf).ns == 0) {
      continue;
    }
    std::string path;
    for (const FlameTree::Node* node = &leaf; node != &tree.nodes()[FlameTree::kRoot];
         node = &tree.nodes()[node->parent]) {
      std::string part;
      for (const LabelId id : tree.frames(*node)) {
        part += std::string(tree.name(id)) + ";";
      }
      path.insert(0, part);
    }
    paths[path] += tree.self(leaf).ns;
  }
  return paths;
}

}  // namespace

TEST_CASE("inverted: paths begin at their innermost frame and share equal beginnings") {
  FlameTree tree;
  add(tree, "main;load;gemm", 10);
  add(tree, "main;step;gemm", 5);
  add(tree, "main;step", 2);
  const Inverted got = inverted(tree);
  CHECK(paths_of(got.tree) ==
        std::map<std::string, uint64_t>{{"gemm;load;main;", 10}, {"gemm;step;main;", 5}, {"step;main;", 2}});
  CHECK(got.cut_paths == 0);
  CHECK(got.tree.total().ns == 17);
  CHECK(got.tree.total().count == 3);
  CHECK(paths_of(inverted(got.tree).tree) == paths_of(tree));
}

TEST_CASE("inverted: weight without a path stays at the root") {
  FlameTree tree;
  tree.add(FlameTree::kRoot, {7, 1, 0});
  const Inverted got = inverted(tree);
  CHECK(got.tree.total().ns == 7);
  CHECK(got.cut_paths == 0);
}

TEST_CASE("inverted: limits cut paths but keep all weights") {
  FlameTree tree;
  add(tree, "a;b;c;d", 1);
  add(tree, "a;b;c;e", 2);
  const Inverted deep = inverted(tree, {.depth = 2});
  CHECK(paths_of(deep.tree) == std::map<std::string, uint64_t>{{"d;c;", 1}, {"e;c;", 2}});
  CHECK(deep.cut_paths == 2);
  const Inverted late = inverted(tree, {.steps = 1, .short_depth = 1});
  CHECK(late.cut_paths == 1);
  CHECK(late.tree.total().ns == 3);
}

}  // namespace gpuprof::analyze
