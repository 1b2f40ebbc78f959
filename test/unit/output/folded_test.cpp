#include "output/folded.h"

#include "catch.h"

using namespace gpuprof;
using analyze::FlameTree;
using analyze::FrameClass;
using analyze::NodeId;
using output::folded;
using output::TimeUnit;
using output::WeightChoice;
using output::WeightKind;

namespace {
constexpr WeightChoice kNs{WeightKind::time, TimeUnit::ns};
constexpr WeightChoice kUs{WeightKind::time, TimeUnit::us};
}  // namespace

TEST_CASE("an empty tree has no folded lines") {
  CHECK(folded(FlameTree(), kNs).empty());
}

TEST_CASE("suffixes show the class of a frame") {
  FlameTree tree;
  NodeId node = tree.child(FlameTree::kRoot, "app", FrameClass::process);
  node = tree.child(node, "main", FrameClass::native);
  node = tree.child(node, "step", FrameClass::inlined);
  node = tree.child(node, "train.py", FrameClass::python);
  node = tree.child(node, "-", FrameClass::separator);
  node = tree.child(node, "do_ioctl", FrameClass::kernel);
  node = tree.child(node, "already_[k]", FrameClass::kernel);
  node = tree.child(node, "saxpy", FrameClass::gpu);
  node = tree.child(node, "mad", FrameClass::gpu_detail);
  tree.add(node, {.ns = 1, .count = 2, .bytes = 3});
  const std::string path = "app;main;step;train.py;-;do_ioctl_[k];already_[k];saxpy_[G];mad_[g] ";
  CHECK(folded(tree, kNs) == path + "1\n");
  CHECK(folded(tree, {WeightKind::count}) == path + "2\n");
  CHECK(folded(tree, {WeightKind::bytes}) == path + "3\n");
}

TEST_CASE("a name cannot break a line or a frame") {
  FlameTree tree;
  NodeId node = tree.child(FlameTree::kRoot, "a;b\nc\r\td", FrameClass::native);
  node = tree.child(node, std::string_view("nul\0", 4), FrameClass::native);
  node = tree.child(node, "bad\xff", FrameClass::native);
  node = tree.child(node, "", FrameClass::native);
  node = tree.child(node, "caf\xc3\xa9", FrameClass::native);
  tree.add(node, {.ns = 5});
  CHECK(folded(tree, kNs) == "a:b c  d;nul ;bad\\xff;[unknown];caf\xc3\xa9 5\n");
}

TEST_CASE("lines are sorted bytewise, whatever the order of the tree") {
  FlameTree tree;
  for (const char* name : {"b", "a", "B", "\xc3\xa9", "a b"}) {
    tree.add(tree.child(FlameTree::kRoot, name, FrameClass::native), {.ns = 1});
  }
  tree.add(tree.child(tree.child(FlameTree::kRoot, "a", FrameClass::native), "x", FrameClass::native), {.ns = 1});
  CHECK(folded(tree, kNs) == "B 1\na 1\na b 1\na;x 1\nb 1\n\xc3\xa9 1\n");
}

TEST_CASE("frames with equal labels share a line") {
  FlameTree tree;
  tree.add(tree.child(FlameTree::kRoot, "x;y", FrameClass::native), {.ns = 1});
  tree.add(tree.child(FlameTree::kRoot, "x:y", FrameClass::inlined), {.ns = 2});
  CHECK(folded(tree, kNs) == "x:y 3\n");
}

TEST_CASE("remainders are carried from line to line") {
  FlameTree tree;
  for (const char* name : {"a", "b", "c", "d"}) {
    tree.add(tree.child(FlameTree::kRoot, name, FrameClass::native), {.ns = 600});
  }
  // Running sums: 600, 1200, 1800, 2400 ns. A line gets 1 us if its running sum reaches the next whole us.
  CHECK(folded(tree, kUs) == "b 1\nd 1\n");
  CHECK(folded(tree, kNs) == "a 600\nb 600\nc 600\nd 600\n");
}

TEST_CASE("large numbers are exact") {
  FlameTree tree;
  tree.add(tree.child(FlameTree::kRoot, "a", FrameClass::native), {.ns = 18446744073709551615U});
  CHECK(folded(tree, kNs) == "a 18446744073709551615\n");
  CHECK(folded(tree, kUs) == "a 18446744073709551\n");
}

TEST_CASE("a deep stack and its shallow neighbours are sorted") {
  FlameTree tree;
  NodeId node = FlameTree::kRoot;
  std::string path;
  for (int i = 0; i < 50000; ++i) {
    node = tree.child(node, "f", FrameClass::native);
    path += i == 0 ? "f" : ";f";
  }
  tree.add(node, {.ns = 3});
  tree.add(tree.child(FlameTree::kRoot, "f", FrameClass::native), {.ns = 1});
  tree.add(tree.child(FlameTree::kRoot, "f g", FrameClass::native), {.ns = 2});
  tree.add(tree.child(tree.child(FlameTree::kRoot, "f g", FrameClass::native), "h", FrameClass::native), {.ns = 4});
  tree.add(tree.child(FlameTree::kRoot, "f<int>", FrameClass::native), {.ns = 5});
  CHECK(folded(tree, kNs) == "f 1\nf g 2\nf g;h 4\n" + path + " 3\nf<int> 5\n");
}
