// Merges native and Python frames of a thread into the words of wire/stack.h.
#pragma once

#include <cstdint>

#include "python/python.h"
#include "stack/native_walk.h"
#include "wire/stack.h"

namespace gpuprof::injection {

struct MergeInput {
  const NativeFrame* native;
  uint32_t native_count;
  const PythonFrame* python;
  uint32_t python_count;
  uint64_t sp;  // value of sp at the innermost native frame
  uint64_t eval_begin;
  uint64_t eval_end;
};

struct MergeResult {
  uint32_t count;
  bool complete;  // false: words did not fit, or no native frame was found for some Python frames
};

class StackMerge {
 public:
  StackMerge(const MergeInput& input, uint64_t* words, uint32_t capacity)
      : in_(input), words_(words), capacity_(capacity) {}

  // Writes Python frames before the native frame of their run. If that native frame is not found, they join the next
  // run, or the end of the stack. The order of Python frames is always right.
  MergeResult merge() {
    uint32_t run = 0;  // index of the first Python frame that is not written yet
    uint32_t native = 0;
    for (uint32_t last = 0; last < in_.python_count; ++last) {
      const uint64_t boundary = in_.python[last].boundary;
      if (boundary == 0) {
        continue;
      }
      const uint32_t owner = find_owner(native, boundary);
      if (owner == in_.native_count) {
        continue;
      }
      put_native(native, owner);
      put_python(run, last + 1);
      put(in_.native[owner].word | GPUPROF_WORD_EVAL);
      native = owner + 1;
      run = last + 1;
    }
    put_native(native, in_.native_count);
    complete_ = complete_ && run == in_.python_count;
    put_python(run, in_.python_count);
    return {count_, complete_};
  }

 private:
  static constexpr uint32_t kMaxFailedSearches = 16;  // limited, because each failed search scans all frames

  [[nodiscard]] uint64_t begin_of(uint32_t frame) const { return frame == 0 ? in_.sp : in_.native[frame - 1].cfa; }

  [[nodiscard]] bool in_eval(uint64_t word) const {
    const uint64_t address = word & GPUPROF_WORD_ADDRESS;
    const uint64_t inside = (word & GPUPROF_WORD_EXACT) != 0 ? address : address - 1;
    return inside >= in_.eval_begin && inside < in_.eval_end;
  }

  // Returns native_count if no native frame contains the boundary.
  uint32_t find_owner(uint32_t from, uint64_t boundary) {
    const bool known = boundary > 1;
    if (known && failed_ < kMaxFailedSearches) {
      for (uint32_t i = from; i < in_.native_count; ++i) {
        if (boundary >= begin_of(i) && boundary < in_.native[i].cfa) {
          return i;
        }
      }
      ++failed_;
    }
    if (known) {
      return in_.native_count;
    }
    for (uint32_t i = from; i < in_.native_count; ++i) {
      if (in_eval(in_.native[i].word)) {
        return i;
      }
    }
    return in_.native_count;
  }

  void put(uint64_t word) {
    if (count_ < capacity_) {
      words_[count_++] = word;
    } else {
      complete_ = false;
    }
  }

  void put_native(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      put(in_.native[i].word);
    }
  }

  void put_python(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      put(in_.python[i].word);
    }
  }

  const MergeInput& in_;
  uint64_t* words_;
  uint32_t capacity_;
  uint32_t count_ = 0;
  uint32_t failed_ = 0;
  bool complete_ = true;
};

}  // namespace gpuprof::injection
