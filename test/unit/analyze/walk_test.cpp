// Compares the paths that analyze/paths/walk.h gives to exports with those that analyze/paths/fold.h gives to `flame`.
// The two compute the paths in different ways, and must give each path the same weight.
#include "analyze/paths/walk.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyze/paths/fold.h"
#include "catch.h"
#include "output/folded.h"
#include "profile/random_profile.h"
#include "profile/text_input.h"

using namespace gpuprof;
using namespace gpuprof::analyze;
using output::TimeUnit;
using output::WeightKind;

namespace {

Aggregate aggregated(const std::string& text) {
  auto reader = test::open_text(text, true);
  REQUIRE(reader);
  auto rows = aggregate(*reader, {.queue = true});
  INFO((rows ? std::string() : rows.error().message));
  REQUIRE(rows);
  return std::move(rows).value();
}

FlameTree tree_of(Walk& walk, uint64_t WalkWeight::*number) {
  FlameTree tree;
  std::vector<LabelId> labels;  // indexed by frame
  std::vector<LabelId> path;
  constexpr LabelId kNoLabel{UINT32_MAX};
  static_cast<void>(walk.run([&](const WalkRow& row) {  // the callback cannot fail
    if (row.weight.*number == 0) {
      return Status();
    }
    path.clear();
    for (const uint32_t id : row.frames) {
      if (id >= labels.size()) {
        labels.resize(std::max<size_t>(id + size_t{1}, 2 * labels.size()), kNoLabel);
      }
      if (labels[id] == kNoLabel) {
        const WalkFrame& frame = walk.frame(id);
        labels[id] = tree.label(tree.intern(frame.label), frame.cls);
      }
      path.push_back(labels[id]);
    }
    tree.add(tree.descend(FlameTree::kRoot, tree.keep(path)), {.ns = row.weight.*number});
    return Status();
  }));
  return tree;
}

std::string walked(Walk& walk, uint64_t WalkWeight::*number) {
  return output::folded(tree_of(walk, number), {WeightKind::time, TimeUnit::ns});
}

std::string folded(const Aggregate& rows, const FoldOptions& options, WeightKind kind) {
  return output::folded(fold(rows, options).tree, {kind, TimeUnit::ns});
}

Pattern walk_pattern(const char* text) {
  auto made = Pattern::compile("--hide", text);
  REQUIRE(made);
  return std::move(made).value();
}

}  // namespace

TEST_CASE("a walk finds the paths of the flame graph") {
  std::vector<StackOptions> choices(4);
  choices[1].from_start = true;
  choices[1].lines = true;
  choices[2].hide = {walk_pattern("[a-m]")};
  choices[2].collapse_recursion = true;
  choices[3].python = PythonFrames::native;
  choices[3].numbers = false;
  choices[3].hide = {walk_pattern(".")};
  for (unsigned seed = 0; seed < 120; ++seed) {
    INFO("seed " << seed);
    const Aggregate rows = aggregated(test::RandomProfile(seed).text);
    for (const StackOptions& stacks : choices) {
      Walk walk(rows, stacks);
      const bool only_samples = rows.info.kind == ProfileKind::stall_samples;
      FoldOptions options{.stacks = stacks, .leaves = Leaves{}};
      if (!only_samples) {
        CHECK(walked(walk, &WalkWeight::ns) == folded(rows, options, WeightKind::time));
        CHECK(walked(walk, &WalkWeight::launches) == folded(rows, options, WeightKind::count));
        CHECK(walked(walk, &WalkWeight::bytes) == folded(rows, options, WeightKind::bytes));
      }
      options.measure = Measure::samples;
      options.leaves = only_samples ? Leaves{Leaf::line, Leaf::instruction, Leaf::stall, Leaf::offset}
                                    : Leaves{Leaf::line, Leaf::stall};
      CHECK(walked(walk, &WalkWeight::samples) == folded(rows, options, WeightKind::count));
    }
  }
}

TEST_CASE("the weights of a walk add up to the profile's sums, on every run") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile random(seed);
    const Aggregate rows = aggregated(random.text);
    Walk walk(rows, {});
    for (int round = 0; round < 2; ++round) {
      WalkWeight sum;
      REQUIRE(walk.run([&](const WalkRow& row) {
        sum.ns += row.weight.ns;
        sum.launches += row.weight.launches;
        sum.bytes += row.weight.bytes;
        sum.samples += row.weight.samples;
        CHECK(row.outer < row.frames.size());
        return Status();
      }));
      CHECK(sum.ns == random.gpu_ns);
      CHECK(sum.launches == random.gpu_count + random.launches);
      CHECK(sum.samples == random.samples);
      CHECK(sum.bytes == walk.total().bytes);
    }
  }
}

TEST_CASE("a frame of a walk has all attributes from the profile") {
  const Aggregate rows = aggregated(
      "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;step\nSTRING;3;/src/a.py\nSTRING;4;/opt/liba.so\nSTRING;5;00ff\nSTRING;6;k\n"
      "FRAME;1;python;2;3;17;4;5;0x1234\nUSTACK;1;1\nPROCESS;1;7;1;5;1;0;0;0\n"
      "WORK;1;1;0;0;1;0;0;0;0;0;kernel;6;0\nGPU;0;1;2;30;10;20;500;11;4\nGPU;1;1;1;5;5;5;25;3;0\nEND;9;3;3;35;3;0;0\n");
  Walk walk(rows, {});
  size_t visits = 0;
  REQUIRE(walk.run([&](const WalkRow& row) {
    ++visits;
    REQUIRE(row.frames.size() == 3);
    CHECK(row.outer == 1);
    CHECK(row.weight.ns == 35);
    CHECK(row.weight.launches == 3);
    CHECK(row.weight.queue_ns == 14);
    CHECK(row.weight.bytes == 4);
    const WalkFrame& frame = walk.frame(row.frames[1]);
    CHECK(frame.label == "step (/src/a.py:17)");
    CHECK(frame.name == "step");
    CHECK(frame.file == "/src/a.py");
    CHECK(frame.line == 17);
    CHECK(frame.module == "/opt/liba.so");
    CHECK(frame.build_id == "00ff");
    CHECK(frame.address == 0x1234);
    CHECK(frame.cls == FrameClass::python);
    CHECK(walk.frame(row.frames[2]).label == "k");
    return Status();
  }));
  CHECK(visits == 1);
}

TEST_CASE("a walk ends when its callback returns an error, and returns that error") {
  const Aggregate rows = aggregated(test::RandomProfile(3).text);
  Walk walk(rows, {});
  size_t visits = 0;
  const Status done = walk.run([&](const WalkRow& /*unused*/) {
    ++visits;
    return Status(Error{"enough"});
  });
  REQUIRE_FALSE(done);
  CHECK(done.error().message == "enough");
  CHECK(visits == 1);
}
