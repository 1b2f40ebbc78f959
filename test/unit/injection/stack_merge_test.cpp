#include "stack/stack_merge.h"

#include <vector>

#include "catch.h"

using gpuprof::injection::MergeInput;
using gpuprof::injection::MergeResult;
using gpuprof::injection::NativeFrame;
using gpuprof::injection::PythonFrame;
using gpuprof::injection::StackMerge;

namespace {

constexpr uint64_t kSp = 0x7000;
constexpr uint64_t kEvalBegin = 0x500000;
constexpr uint64_t kEvalEnd = 0x501000;
constexpr uint64_t kEval = GPUPROF_WORD_EVAL;

// Builds frames of 0x100 bytes each, innermost first.
std::vector<NativeFrame> native(const std::vector<uint64_t>& words) {
  std::vector<NativeFrame> frames;
  for (const uint64_t word : words) {
    frames.push_back({word, kSp + (frames.size() + 1) * 0x100});
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

Words merged(const std::vector<NativeFrame>& frames, const std::vector<PythonFrame>& python, bool* complete = nullptr,
             uint32_t capacity = 100) {
  Words words(capacity);
  const MergeInput input = {frames.data(), static_cast<uint32_t>(frames.size()),
                            python.data(), static_cast<uint32_t>(python.size()),
                            kSp,           kEvalBegin,
                            kEvalEnd};
  const MergeResult result = StackMerge(input, words.data(), capacity).merge();
  words.resize(result.count);
  if (complete != nullptr) {
    *complete = result.complete;
  } else {
    CHECK(result.complete);
  }
  return words;
}

}  // namespace

TEST_CASE("native frames alone stay as they are") {
  CHECK(merged(native({1, 2, 3}), {}) == Words{1, 2, 3});
  CHECK(merged({}, {}).empty());
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
  std::vector<NativeFrame> frames = native(Words(4000, 11));
  std::vector<PythonFrame> python(4000, PythonFrame{py(1), 0x10});
  bool complete = true;
  CHECK(merged(frames, python, &complete, 10000).size() == 8000);
  CHECK_FALSE(complete);
}
