#include "stack/stack_merge.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

#include "catch.h"

using gpuprof::injection::MergedStack;
using gpuprof::injection::MergeInput;
using gpuprof::injection::NativeFrame;
using gpuprof::injection::PythonFrame;
using gpuprof::injection::StackMerge;

namespace {

constexpr uint64_t kSp = 0x7000;
constexpr uint64_t kEvalBegin = 0x500000;
constexpr uint64_t kEvalEnd = 0x501000;
constexpr uint64_t kEval = GPUPROF_WORD_EVAL;

// Builds frames of 0x100 bytes each from words that are given innermost first.
std::vector<NativeFrame> native(const std::vector<uint64_t>& words) {
  std::vector<NativeFrame> frames = {{0, kSp + words.size() * 0x100, 0, 0}};
  for (size_t i = words.size(); i > 0; --i) {
    frames.push_back({words[i - 1], kSp + (i - 1) * 0x100, 0, 0});
  }
  return frames;
}

uint64_t in_frame(size_t index) {
  return kSp + index * 0x100 + 0x80;
}

uint64_t py(uint32_t code) {
  return GPUPROF_WORD_OF_PYTHON(code, 4);
}

using Words = std::vector<uint64_t>;

// Merges stacks one after the other. A merge may keep words of the stack before.
class Merges {
 public:
  struct Result {
    Words words;  // innermost first
    bool complete;
  };

  Result next(const std::vector<NativeFrame>& frames, const std::vector<PythonFrame>& python,
              uint32_t common_native = 0, uint32_t common_python = 0, uint32_t capacity = 100) {
    std::vector<StackMerge::Run> runs(python.size());
    const bool keep = merged_->reusable != 0;
    const MergeInput input = {frames.data(),
                              static_cast<uint32_t>(frames.size() - 1),
                              python.data(),
                              static_cast<uint32_t>(python.size()),
                              kEvalBegin,
                              kEvalEnd,
                              keep ? common_native : 0,
                              keep ? common_python : 0,
                              keep};
    const bool complete = StackMerge(input, merged_.get(), runs.data(), capacity).merge();
    return {
        Words(std::make_reverse_iterator(merged_->words + merged_->count), std::make_reverse_iterator(merged_->words)),
        complete};
  }
  [[nodiscard]] const MergedStack& stack() const { return *merged_; }

 private:
  std::unique_ptr<MergedStack> merged_ = std::make_unique<MergedStack>();
};

Words merged(const std::vector<NativeFrame>& frames, const std::vector<PythonFrame>& python, bool* complete = nullptr,
             uint32_t capacity = 100) {
  const Merges::Result result = Merges().next(frames, python, 0, 0, capacity);
  if (complete != nullptr) {
    *complete = result.complete;
  } else {
    CHECK(result.complete);
  }
  return result.words;
}

}  // namespace

TEST_CASE("native frames alone stay as they are") {
  CHECK(merged(native({1, 2, 3}), {}) == Words{1, 2, 3});
  CHECK(merged(native({}), {}).empty());
}

TEST_CASE("a run of Python frames is placed before the native frame that contains its boundary") {
  const auto frames = native({11, 12, 13, 14});
  CHECK(merged(frames, {{py(1), 0}, {py(2), in_frame(2)}}) == Words{11, 12, py(1), py(2), 13 | kEval, 14});
  CHECK(merged(frames, {{py(1), in_frame(0)}}) == Words{py(1), 11 | kEval, 12, 13, 14});
  CHECK(merged(frames, {{py(1), in_frame(1)}, {py(2), 0}, {py(3), in_frame(3)}}) ==
        Words{11, py(1), 12 | kEval, 13, py(2), py(3), 14 | kEval});
}

TEST_CASE("a frame includes its lower end and excludes its upper end") {
  const auto frames = native({11, 12, 13});
  CHECK(merged(frames, {{py(1), kSp}}) == Words{py(1), 11 | kEval, 12, 13});
  CHECK(merged(frames, {{py(1), kSp + 0x100}}) == Words{11, py(1), 12 | kEval, 13});
  CHECK(merged(frames, {{py(1), kSp + 0xff}}) == Words{py(1), 11 | kEval, 12, 13});
}

TEST_CASE("a run without an address is placed before the next evaluation loop frame") {
  const auto frames = native({11, kEvalBegin + 5, 13, kEvalEnd, kEvalEnd + 1, kEvalBegin});
  // A return address just after the evaluation loop belongs to the loop. A return address at the loop's start does not.
  CHECK(merged(frames, {{py(1), 1}, {py(2), 1}}) ==
        Words{11, py(1), (kEvalBegin + 5) | kEval, 13, py(2), kEvalEnd | kEval, kEvalEnd + 1, kEvalBegin});
  const auto exact = native({11, kEvalBegin | GPUPROF_WORD_EXACT});
  CHECK(merged(exact, {{py(1), 1}}) == Words{11, py(1), kEvalBegin | GPUPROF_WORD_EXACT | kEval});
}

TEST_CASE("a run whose frame is missing joins the next run, or is placed outermost") {
  const auto frames = native({11, 12, 13});
  bool complete = true;
  CHECK(merged(frames, {{py(1), 0x99999}, {py(2), in_frame(1)}}, &complete) == Words{11, py(1), py(2), 12 | kEval, 13});
  CHECK(complete);
  CHECK(merged(frames, {{py(1), in_frame(1)}, {py(2), 0x99999}}, &complete) == Words{11, py(1), 12 | kEval, 13, py(2)});
  CHECK_FALSE(complete);
  CHECK(merged(frames, {{py(1), in_frame(1)}, {py(2), 0}}, &complete) == Words{11, py(1), 12 | kEval, 13, py(2)});
  CHECK_FALSE(complete);  // the Python walk was truncated
  CHECK(merged(frames, {{py(1), in_frame(2)}, {py(2), in_frame(0)}}, &complete) ==
        Words{11, 12, py(1), 13 | kEval, py(2)});
  CHECK_FALSE(complete);
}

TEST_CASE("a stack that is too long is cut at its outermost frames") {
  const auto frames = native({11, 12, 13});
  bool complete = true;
  CHECK(merged(frames, {{py(1), in_frame(2)}}, &complete, 3) == Words{11, 12, py(1)});
  CHECK_FALSE(complete);
  CHECK(merged(frames, {}, &complete, 3) == Words{11, 12, 13});
  CHECK(complete);
}

TEST_CASE("many runs without a frame take bounded time") {
  std::vector<NativeFrame> frames = native(Words(2000, 11));
  std::vector<PythonFrame> python(2000, PythonFrame{py(1), 0x10});
  bool complete = true;
  CHECK(merged(frames, python, &complete, GPUPROF_STACK_MAX_WORDS).size() == 4000);
  CHECK_FALSE(complete);
}

namespace {

// A random stack. Each evaluation loop contains the boundary of a run, unless the boundary is bad.
struct RandomStack {
  std::vector<NativeFrame> frames = native({});
  std::vector<PythonFrame> python;
};

RandomStack random_stack(std::mt19937& random, const RandomStack& before) {
  const auto below = [&random](size_t limit) { return random() % limit; };
  // The outer frames of the stack before, and of those that are Python frames.
  RandomStack stack = before;
  const size_t kept = below(stack.frames.size()) + 1;
  while (stack.frames.size() > kept) {
    stack.frames.pop_back();
  }
  const uint64_t sp = stack.frames.back().sp;
  const auto inner = [sp](const PythonFrame& frame) { return frame.boundary != 0 && frame.boundary < sp; };
  size_t drop = 0;
  for (size_t i = 0; i < stack.python.size(); ++i) {
    drop = inner(stack.python[i]) ? i + 1 : drop;
  }
  stack.python.erase(stack.python.begin(), stack.python.begin() + static_cast<long>(drop));
  if (below(4) == 0 && !stack.python.empty()) {
    stack.python[below(stack.python.size())].word ^= 8;  // another line
  }
  for (size_t more = below(12); more > 0 && stack.frames.size() < 60; --more) {
    const uint64_t end = stack.frames.back().sp;
    stack.frames.push_back({1000 + below(5), end - 0x100, 0, 0});
    if (below(3) != 0) {
      continue;
    }
    std::vector<PythonFrame> run(1 + below(3));
    for (PythonFrame& frame : run) {
      frame = {py(static_cast<uint32_t>(below(5))), 0};
    }
    run.back().boundary = below(20) == 0 ? 0x10 : end - 0x80;
    stack.python.insert(stack.python.begin(), run.begin(), run.end());
  }
  return stack;
}

template <typename Frames, typename Equal>
uint32_t common(const Frames& before, const Frames& now, Equal equal) {
  const size_t most = std::min(before.size(), now.size());
  size_t count = 0;
  while (count < most && equal(before[count], now[count])) {
    ++count;
  }
  return static_cast<uint32_t>(count);
}

}  // namespace

TEST_CASE("a merge that keeps outer words has the same result as one that keeps none") {
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same stacks each time
  Merges keeping;
  RandomStack before;
  before.frames[0].sp = 0x100000;
  uint32_t kept = 0;
  uint32_t incomplete = 0;
  for (int i = 0; i < 20000; ++i) {
    const RandomStack now = random_stack(random, before);
    const uint32_t native_frames =
        common(before.frames, now.frames,
               [](const NativeFrame& a, const NativeFrame& b) { return a.word == b.word && a.sp == b.sp; }) -
        1;
    const std::vector<PythonFrame> outer_before(before.python.rbegin(), before.python.rend());
    const std::vector<PythonFrame> outer_now(now.python.rbegin(), now.python.rend());
    const uint32_t python_frames = common(outer_before, outer_now, [](const PythonFrame& a, const PythonFrame& b) {
      return a.word == b.word && a.boundary == b.boundary;
    });
    Merges afresh;
    const uint32_t capacity = i % 3 == 0 ? 40 : 200;
    const Merges::Result expected = afresh.next(now.frames, now.python, 0, 0, capacity);
    const Merges::Result result = keeping.next(now.frames, now.python, native_frames, python_frames, capacity);
    REQUIRE(result.words == expected.words);
    REQUIRE(result.complete == expected.complete);
    REQUIRE(keeping.stack().hash == afresh.stack().hash);
    kept += native_frames;
    incomplete += expected.complete ? 0 : 1;
    before = now;
  }
  CHECK(kept > 20000);
  CHECK(incomplete > 100);
}

TEST_CASE("equal words at different positions have different hashes") {
  Merges merges;
  std::vector<uint64_t> hashes;
  for (const Words& words : {Words{11, 12, 13}, Words{13, 12, 11}, Words{12, 11, 13}, Words{11, 12}, Words{12, 13}}) {
    merges.next(native(words), {});
    hashes.push_back(merges.stack().hash);
  }
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::unique(hashes.begin(), hashes.end()) == hashes.end());
}
