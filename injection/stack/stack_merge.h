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
  bool ascending;  // each native frame is at a higher address than those that it called
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
  uint64_t words[2 * GPUPROF_STACK_MAX_WORDS];  // enough for all frames; `count` may be less
  Part parts[GPUPROF_STACK_MAX_WORDS + 1];      // parts[i] has i native frames
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
  // A run of Python frames with a native frame: the innermost `python` Python frames and `native` native frames end
  // with this run.
  struct Run {
    uint32_t native;
    uint32_t python;
  };

  // `runs` has space for as many runs as there are Python frames. `capacity` is at most GPUPROF_STACK_MAX_WORDS.
  StackMerge(const MergeInput& input, MergedStack* merged, Run* runs, uint32_t capacity)
      : in_(input),
        merged_(*merged),
        runs_(runs),
        capacity_(capacity),
        common_native_(input.common_native),
        common_python_(input.common_python) {}

  // Fills in the merged stack. Returns false if words did not fit, or if no native frame was found for some Python
  // frames. Python frames precede the native frame of their run. If that native frame is not found, they join the next
  // run, or the end of the stack. The order of Python frames is always right.
  bool merge() {
    bool complete = find_runs();
    complete = kept_.words + end_.native + end_.python <= capacity_ && complete;
    append();
    merged_.reusable = complete && failed_ == 0 ? 1 : 0;
    return complete;
  }

 private:
  static constexpr uint32_t kMaxFailedSearches = 16;  // limited, because each failed search scans all frames

  // Returns a native frame by its index, which counts from the innermost frame. Its caller precedes it in memory.
  [[nodiscard]] const NativeFrame* native(uint32_t index) const { return in_.native + (in_.native_count - index); }

  [[nodiscard]] bool in_eval(uint64_t word) const {
    const uint64_t address = word & GPUPROF_WORD_ADDRESS;
    const uint64_t inside = (word & GPUPROF_WORD_EXACT) != 0 ? address : address - 1;
    return inside >= in_.eval_begin && inside < in_.eval_end;
  }

  // Returns the first native frame of [from, to) that contains the boundary. Returns max(from, to) if none does.
  [[nodiscard]] uint32_t find_owner(uint32_t from, uint32_t to, uint64_t boundary) const {
    const NativeFrame* frame = native(from);
    uint32_t i = from;
    if (boundary > 1) {
      if (in_.ascending && boundary >= native(to)->sp) {
        return from < to ? to : from;
      }
      for (; i < to && (boundary < frame->sp || boundary >= frame[-1].sp); ++i) {
        --frame;
      }
    } else {
      for (; i < to && !in_eval(frame->word); ++i) {
        --frame;
      }
    }
    return i;
  }

  // Returns whether all that is outside of the `native` innermost native frames and the `python` innermost Python
  // frames has the same words as in the last stack. The native frames outside must be common to both stacks.
  bool keeps(uint32_t native, uint32_t python) {
    const uint32_t native_left = in_.native_count - native;
    const uint32_t python_left = in_.python_count - python;
    if (failed_ != 0 || python_left > common_python_ || merged_.parts[native_left].python != python_left) {
      return false;
    }
    kept_ = merged_.parts[native_left];
    kept_native_ = native_left;
    end_ = {native, python};
    return true;
  }

  // Finds the runs that are not kept, innermost first.
  bool find_runs() {
    const uint32_t fresh = in_.native_count - common_native_;
    run_count_ = 0;
    failed_ = 0;
    kept_ = {};
    kept_native_ = 0;
    Run done = {0, 0};
    for (uint32_t last = 0; last < in_.python_count; ++last) {
      const uint64_t boundary = in_.python[last].boundary;
      if (boundary == 0 || (boundary > 1 && failed_ >= kMaxFailedSearches)) {
        continue;
      }
      uint32_t owner = find_owner(done.native, fresh, boundary);
      if (owner >= fresh) {
        if (keeps(owner, done.python)) {
          return true;
        }
        owner = find_owner(owner, in_.native_count, boundary);
      }
      if (owner == in_.native_count) {
        ++failed_;
        continue;
      }
      done = {owner + 1, last + 1};
      runs_[run_count_++] = done;
    }
    if (keeps(done.native < fresh ? fresh : done.native, done.python)) {
      return true;
    }
    end_ = {in_.native_count, in_.python_count};
    return done.python == in_.python_count;
  }

  // Adds words after those that are kept.
  class Writer {
   public:
    Writer(MergedStack& to, const MergedStack::Part& kept, uint32_t natives)
        : words_(to.words), part_(to.parts + natives), count_(kept.words), python_(kept.python), hash_(kept.hash) {}

    void put(uint64_t word) {
      words_[count_] = word;
      hash_ += hash_word(word, count_);
      ++count_;
    }
    // Adds the Python frames [from, to), outermost first.
    void put_python(const PythonFrame* from, const PythonFrame* to) {
      python_ += static_cast<uint32_t>(to - from);
      while (to != from) {
        --to;
        put(to->word);
      }
    }
    // Ends the part with the last native frame.
    void end_part() { *++part_ = {count_, python_, hash_}; }
    // Adds the native frames from `outermost` to `innermost`.
    void put_native(const NativeFrame* outermost, const NativeFrame* innermost) {
      for (; outermost <= innermost; ++outermost) {
        put(outermost->word);
        end_part();
      }
    }
    [[nodiscard]] uint32_t count() const { return count_; }
    [[nodiscard]] uint64_t hash() const { return hash_; }

   private:
    uint64_t* words_;
    MergedStack::Part* part_;
    uint32_t count_;
    uint32_t python_;
    uint64_t hash_;
  };

  // Adds the words that are not kept to those that are, outermost first.
  void append() {
    Writer writer(merged_, kept_, kept_native_);
    Run end = end_;
    const uint32_t in_runs = run_count_ == 0 ? 0 : runs_[run_count_ - 1].python;
    if (kept_native_ == 0) {
      writer.put_python(in_.python + in_runs, in_.python + end.python);
    }
    for (uint32_t i = run_count_; i-- > 0;) {
      const Run run = runs_[i];
      const uint32_t begin = i == 0 ? 0 : runs_[i - 1].python;
      writer.put_native(native(end.native) + 1, native(run.native));
      writer.put(native(run.native - 1)->word | GPUPROF_WORD_EVAL);
      writer.put_python(in_.python + begin, in_.python + run.python);
      writer.end_part();
      end = {run.native - 1, begin};
    }
    writer.put_native(native(end.native) + 1, native(0));
    merged_.count = writer.count();
    merged_.hash = writer.hash();
    if (merged_.count > capacity_) {
      cut();
    }
  }

  // Removes the outermost words that do not fit.
  void cut() {
    const uint32_t removed = merged_.count - capacity_;
    merged_.count = capacity_;
    merged_.hash = 0;
    for (uint32_t i = 0; i < capacity_; ++i) {
      merged_.words[i] = merged_.words[removed + i];
      merged_.hash += hash_word(merged_.words[i], i);
    }
  }

  const MergeInput& in_;
  MergedStack& merged_;
  Run* runs_;
  uint32_t capacity_;
  uint32_t common_native_;
  uint32_t common_python_;
  uint32_t failed_ = 0;
  uint32_t run_count_ = 0;
  Run end_ = {0, 0};  // number of native and Python frames that are not kept
  MergedStack::Part kept_ = {};
  uint32_t kept_native_ = 0;
};

}  // namespace gpuprof::injection
