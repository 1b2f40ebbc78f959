#include "analyze/paths/work_paths.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyze/paths/call_path.h"
#include "analyze/paths/walk.h"
#include "catch.h"
#include "folding.h"

using namespace gpuprof;
using namespace gpuprof::analyze;

namespace {

// User stack 1 is main, step. Kernel stack 1 is sys, ioctl. User stack 2 is capture.
const std::string kPathsProfile =
    "GPUPROF;3.0\nSTRING;1;app\nSTRING;2;main\nSTRING;3;step\nSTRING;4;sys\nSTRING;5;ioctl\nSTRING;6;capture\n"
    "STRING;7;saxpy\nSTRING;8;epoch\nFRAME;1;native;2;0;0;0;0;0\nFRAME;2;native;3;0;0;0;0;0\n"
    "FRAME;3;kernel;4;0;0;0;0;0\nFRAME;4;kernel;5;0;0;0;0;0\nFRAME;5;native;6;0;0;0;0;0\n"
    "USTACK;1;1;2\nUSTACK;2;5\nKSTACK;1;3;4\nPROCESS;1;100;1;1;1;0;0;0\nDEVICE;1;0;0;0;0\nRANGE;1;0;0;8\n";

// Builds a profile with one WORK record; the arguments are its fields from the user stack to the flags.
std::string path_work(int ustack, int kstack, int capture, int flags) {
  return kPathsProfile + "WORK;1;1;7;0;" + std::to_string(ustack) + ";" + std::to_string(kstack) + ";" +
         std::to_string(capture) + ";1;1;0;kernel;7;" + std::to_string(flags) + "\nGPU;0;1;1;5;5;5;0;0;0\n";
}

std::string joined(const std::vector<std::string_view>& frames) {
  std::string text;
  for (const std::string_view frame : frames) {
    text.append(text.empty() ? "" : ";").append(frame);
  }
  return text;
}

std::string path_of(const std::string& text, const StackOptions& stacks = {}, GraphStacks graph = GraphStacks::both) {
  const Aggregate rows = test::read_all(text);
  WorkPaths paths(rows.tables, stacks, graph);
  std::vector<std::string_view> labels;
  for (const WorkPaths::PathSegment part : paths.launch(site_of(rows.work(rows.rows[0])))) {
    for (const uint32_t frame : paths.frames(part)) {
      labels.emplace_back(paths.view().label(frame));
    }
  }
  return joined(labels);
}

StackOptions hiding(const char* pattern) {
  auto made = Pattern::compile("--hide", pattern);
  REQUIRE(made);
  StackOptions options;
  options.hide = {std::move(made).value()};
  return options;
}

}  // namespace

TEST_CASE("a path has the frames of user space, of the kernel and of the capture") {
  CHECK(path_of(path_work(1, 0, 0, 0)) == "main;step");
  CHECK(path_of(path_work(1, 1, 0, 0)) == "main;step;-;sys;ioctl");
  CHECK(path_of(path_work(0, 1, 0, 0)) == "-;sys;ioctl");
  CHECK(path_of(path_work(1, 1, 2, 1)) == "main;step;-;sys;ioctl;[captured at];capture");
  CHECK(path_of(path_work(1, 1, 2, 1), {}, GraphStacks::launch) == "main;step;-;sys;ioctl");
  CHECK(path_of(path_work(1, 1, 2, 1), {}, GraphStacks::capture) == "capture");
  CHECK(path_of(path_work(1, 0, 2, 0)) == "main;step;[captured at];capture");
}

TEST_CASE("a path says why a stack is missing") {
  CHECK(path_of(path_work(0, 0, 0, 0)) == "[no CPU stack]");
  CHECK(path_of(path_work(0, 0, 0, 2)) == "[stack not sampled]");
  CHECK(path_of(path_work(0, 0, 2, 1)) == "[no CPU stack];[captured at];capture");
  CHECK(path_of(path_work(1, 0, 0, 1)) == "main;step;[capture not known]");
  CHECK(path_of(path_work(1, 0, 0, 5)) == "main;step;[captured before recording]");
}

TEST_CASE("a path says that all frames of a launch or of a capture are hidden") {
  CHECK(path_of(path_work(1, 1, 0, 0), hiding(".")) == "[all frames hidden]");
  CHECK(path_of(path_work(1, 1, 0, 0), hiding("sys|ioctl")) == "main;step");
  CHECK(path_of(path_work(1, 1, 0, 0), hiding("main|step")) == "-;sys;ioctl");
  CHECK(path_of(path_work(1, 0, 2, 1), hiding("capture")) == "main;step;[captured at];[all frames hidden]");
}

TEST_CASE("a flame graph, a walk and a list of functions show one path") {
  const std::string text = path_work(1, 1, 2, 1);
  const Aggregate rows = test::read_all(text);
  CHECK(test::lines_of(text, {}) == "app;epoch;main;step;-;sys_[k];ioctl_[k];[captured at];capture;saxpy_[G] 5\n");
  std::vector<std::string_view> walked;
  Walk walk(rows, {});
  REQUIRE(walk.run([&](const WalkRow& row) {
    for (const uint32_t frame : row.frames) {
      walked.push_back(walk.frame(frame).label);
    }
    return Status();
  }));
  CHECK(joined(walked) == "app;epoch;main;step;-;sys;ioctl;[captured at];capture;saxpy");
  const auto paths = std::make_shared<WorkPaths>(rows.tables, StackOptions());
  const CallPath path(path_key(rows.work(rows.rows[0]), *paths), paths);
  CHECK(joined(path.frames()) == "main;step;sys;ioctl;[captured at];capture");
}
