#include "output/folded.h"

#include <utility>

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

TEST_CASE("each line is rounded alone, and lines that round to 0 are counted") {
  FlameTree tree;
  const NodeId main = tree.child(FlameTree::kRoot, "main", FrameClass::native);
  for (const auto& [name, ns] : {std::pair{"a", 7171}, {"b", 500}, {"c", 300}, {"d", 150}}) {
    tree.add(tree.child(main, name, FrameClass::native), {.ns = static_cast<uint64_t>(ns)});
  }
  output::TooShort too_short;
  CHECK(collect_text([&](TextStream& out) { too_short = output::write_folded(tree, kUs, out); }) ==
        "main;a 7\nmain;b 1\n");
  CHECK(too_short.text() == "2 stacks below 0.5 us are left out, 450 ns in total");
  CHECK(folded(tree, kNs) == "main;a 7171\nmain;b 500\nmain;c 300\nmain;d 150\n");
}

TEST_CASE("large numbers are exact") {
  FlameTree tree;
  tree.add(tree.child(FlameTree::kRoot, "a", FrameClass::native), {.ns = 18446744073709551615U});
  CHECK(folded(tree, kNs) == "a 18446744073709551615\n");
  CHECK(folded(tree, kUs) == "a 18446744073709552\n");
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
