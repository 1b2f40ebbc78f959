// Merges native and Python frames of a thread into the words of wire/stack.h.
#pragma once

#include <cstdint>

#include "python/python.h"
#include "stack/native_walk.h"
#include "wire/hash.h"
#include "wire/stack.h"

namespace gpuprof::injection {

struct MergeInput {
  const NativeFrame* native;  // as in NativeStack: outermost first, and native[0] is not a frame
  uint32_t native_count;
  const PythonFrame* python;  // innermost first
  uint32_t python_count;
  uint64_t eval_begin;
  uint64_t eval_end;
  // Numbers of outermost frames that are the same as at the last merge into the same MergedStack. 0 unless that stack
  // is reusable.
  uint32_t common_native;
  uint32_t common_python;
};

// The words of a stack, outermost first, so that the next stack of the thread can keep the outer words in place.
// Initially zero.
struct MergedStack {
  // The words of some outermost native frames and of their Python frames.
  struct Part {
    uint32_t words;
    uint32_t python;  // number of Python frames among them
    uint64_t hash;    // sum of their hash_word()
  };
  uint32_t count;
  uint32_t reusable;  // 1: each frame has a word at its place, so the next merge may keep outer words
  uint64_t hash;      // sum of hash_word() of all words
  uint64_t words[GPUPROF_STACK_MAX_WORDS];
  Part parts[GPUPROF_STACK_MAX_WORDS + 1];  // parts[i] has i native frames
};

// Hashes a word with its position, which counts from the outermost word. The hash of a stack is the sum of these
// hashes. So the processor computes them in parallel, and the sum of the outer words can be kept.
inline uint64_t hash_word(uint64_t word, uint64_t position) {
  constexpr uint64_t kFirst = 0xD1B54A32D192ED03ULL;
  constexpr uint64_t kNext = GPUPROF_OTHER_MULTIPLIER << 1U;  // even, so that all factors are odd
  return gpuprof_fold_multiply(word ^ GPUPROF_HASH_MULTIPLIER, kFirst + position * kNext);
}

class StackMerge {
 public:
  // `scratch` has `capacity` words, at most GPUPROF_STACK_MAX_WORDS.
  StackMerge(const MergeInput& input, MergedStack* merged, uint64_t* scratch, uint32_t capacity)
      : in_(input),
        merged_(*merged),
        scratch_(scratch),
        capacity_(capacity),
        common_native_(input.common_native),
        common_python_(input.common_python) {}

  // Fills in the merged stack. Returns false if words did not fit, or if no native frame was found for some Python
  // frames. Python frames precede the native frame of their run. If that native frame is not found, they join the next
  // run, or the end of the stack. The order of Python frames is always right.
  bool merge() {
    bool complete = collect();
    if (kept_native_ != 0 && kept_.words + count_ > capacity_) {
      common_native_ = 0;
      common_python_ = 0;
      complete = collect();
    }
    append();
    merged_.reusable = complete && failed_ == 0 ? 1 : 0;
    return complete;
  }

 private:
  static constexpr uint32_t kMaxFailedSearches = 16;  // limited, because each failed search scans all frames

  // Returns a native frame by its index, which counts from the innermost frame.
  [[nodiscard]] const NativeFrame& native(uint32_t index) const { return in_.native[in_.native_count - index]; }
  [[nodiscard]] const NativeFrame& caller_of(uint32_t index) const { return (&native(index))[-1]; }

  [[nodiscard]] bool in_eval(uint64_t word) const {
    const uint64_t address = word & GPUPROF_WORD_ADDRESS;
    const uint64_t inside = (word & GPUPROF_WORD_EXACT) != 0 ? address : address - 1;
    return inside >= in_.eval_begin && inside < in_.eval_end;
  }

  // Returns the first native frame of [from, to) that contains the boundary. Returns max(from, to) if none does.
  [[nodiscard]] uint32_t find_owner(uint32_t from, uint32_t to, uint64_t boundary) const {
    uint32_t i = from;
    if (boundary > 1) {
      while (i < to && (boundary < native(i).sp || boundary >= caller_of(i).sp)) {
        ++i;
      }
    } else {
      while (i < to && !in_eval(native(i).word)) {
        ++i;
      }
    }
    return i;
  }

  // Returns whether all that is outside of the `native` innermost native frames and the `python` innermost Python
  // frames has the same words as in the last stack.
  bool keeps(uint32_t native, uint32_t python) {
    const uint32_t native_left = in_.native_count - native;
    const uint32_t python_left = in_.python_count - python;
    if (failed_ != 0 || native_left > common_native_ || python_left > common_python_ ||
        merged_.parts[native_left].python != python_left) {
      return false;
    }
    kept_ = merged_.parts[native_left];
    kept_native_ = native_left;
    return true;
  }

  // Collects the words that are not kept, innermost first.
  bool collect() {
    const uint32_t fresh = in_.native_count - common_native_;
    count_ = 0;
    failed_ = 0;
    fits_ = true;
    kept_ = {};
    kept_native_ = 0;
    uint32_t run = 0;   // index of the first Python frame that is not collected yet
    uint32_t next = 0;  // index of the first native frame that is not collected yet
    for (uint32_t last = 0; last < in_.python_count; ++last) {
      const uint64_t boundary = in_.python[last].boundary;
      if (boundary == 0 || (boundary > 1 && failed_ >= kMaxFailedSearches)) {
        continue;
      }
      uint32_t owner = find_owner(next, fresh, boundary);
      if (owner >= fresh) {
        if (keeps(owner, run)) {
          put_native(next, owner);
          return fits_;
        }
        owner = find_owner(owner, in_.native_count, boundary);
      }
      if (owner == in_.native_count) {
        ++failed_;
        continue;
      }
      put_native(next, owner);
      put_python(run, last + 1);
      put(native(owner).word | GPUPROF_WORD_EVAL);
      next = owner + 1;
      run = last + 1;
    }
    if (next < fresh) {
      put_native(next, fresh);
      next = fresh;
    }
    if (keeps(next, run)) {
      return fits_;
    }
    put_native(next, in_.native_count);
    put_python(run, in_.python_count);
    return fits_ && run == in_.python_count;
  }

  // Adds the collected words to those that are kept.
  void append() {
    MergedStack::Part part = kept_;
    uint32_t natives = kept_native_;
    for (uint32_t i = count_; i-- > 0;) {
      const uint64_t word = scratch_[i];
      const bool python = (word & GPUPROF_WORD_PYTHON) != 0;
      merged_.words[part.words] = word;
      part.hash += hash_word(word, part.words);
      ++part.words;
      part.python += python ? 1 : 0;
      natives += python ? 0 : 1;
      merged_.parts[natives] = part;
    }
    merged_.parts[0] = {};
    merged_.count = part.words;
    merged_.hash = part.hash;
  }

  void put(uint64_t word) {
    if (count_ < capacity_) {
      scratch_[count_++] = word;
    } else {
      fits_ = false;
    }
  }

  void put_native(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      put(native(i).word);
    }
  }

  void put_python(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      put(in_.python[i].word);
    }
  }

  const MergeInput& in_;
  MergedStack& merged_;
  uint64_t* scratch_;
  uint32_t capacity_;
  uint32_t common_native_;
  uint32_t common_python_;
  uint32_t count_ = 0;
  uint32_t failed_ = 0;
  bool fits_ = true;
  MergedStack::Part kept_ = {};
  uint32_t kept_native_ = 0;
};

}  // namespace gpuprof::injection
