// One limit on the memory of a whole session, whatever its targets send: number of processes, stacks, names, anything.
// Beyond it nothing new is kept that is only detail; work is counted on, under what is known already.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace gpuprof::record {

// Memory of this process in bytes that no file has: what malloc has taken from the kernel and not given back, stacks of
// threads. 0 where it cannot be told: also under a sanitizer, whose own memory would count.
uint64_t own_memory();

// Used by the thread that drains and by the one that writes.
class MemoryBudget {
 public:
  static constexpr uint64_t kLimit = uint64_t{256} << 20;    // detail: stacks, names, threads, ranges, ...
  static constexpr uint64_t kFull = uint64_t{304} << 20;     // also processes, and what takes a few bytes each
  static constexpr uint64_t kReading = uint64_t{384} << 20;  // also what is read of files to name addresses
  static constexpr uint64_t kLookBytes = uint64_t{8} << 20;

  using Meter = std::function<uint64_t()>;
  explicit MemoryBudget(Meter meter = own_memory) : meter_(std::move(meter)) {}

  // Reads the meter, which takes a microsecond or two. Once the limit is reached, gives free memory back to the kernel
  // now and then.
  void look();

  // About so many bytes may have been taken since the last call: looks where that has added up.
  void grew(size_t bytes);

  [[nodiscard]] bool is_limited() const { return used_.load(std::memory_order_relaxed) >= kLimit; }
  [[nodiscard]] bool is_full() const { return used_.load(std::memory_order_relaxed) >= kFull; }

  // Whether some new detail may be kept. False: it is counted as left out.
  bool admit();
  // Bytes that may be taken now to read files; looks.
  uint64_t room();
  void leave_out() { left_out_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }  // since the start

  // For tables that need not have a budget.
  static bool admits(MemoryBudget* budget) { return budget == nullptr || budget->admit(); }
  static bool limits(const MemoryBudget* budget) { return budget != nullptr && budget->is_limited(); }

 private:
  void trim();

  Meter meter_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> grown_{0};
  std::atomic<uint64_t> left_out_{0};
  std::atomic<uint64_t> next_trim_ns_{0};
};

}  // namespace gpuprof::record
