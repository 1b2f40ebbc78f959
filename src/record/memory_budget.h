// Limits the memory of the session, and what it writes about processes. Above a limit, new details are dropped, but
// work is still counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace gpuprof::record {

// Returns the recorder's private memory in bytes (malloc and thread stacks); 0: unknown, or under a sanitizer.
uint64_t own_memory();

// Thread-safe: the main thread and the writer thread share one MemoryBudget.
class MemoryBudget {
 public:
  // At or above this, new details are dropped: stacks, names and threads.
  static constexpr uint64_t kLimit = uint64_t{256} << 20;
  // At or above this, new processes and names are dropped, too.
  static constexpr uint64_t kFull = uint64_t{304} << 20;
  // Limit for all memory of the recorder, including the files that it reads for symbolization.
  static constexpr uint64_t kReading = uint64_t{384} << 20;
  static constexpr uint64_t kLookBytes = uint64_t{8} << 20;
  // Limit for what gpuprof writes about processes without storing it: their remarks (META) and their rows. A CUDA
  // process has 2 to 5 KiB. Processes can connect again and again, so a limit for each of them would not be enough.
  static constexpr uint64_t kWritten = uint64_t{256} << 20;

  using Meter = std::function<uint64_t()>;
  explicit MemoryBudget(Meter meter = own_memory) : meter_(std::move(meter)) {}

  // Reads the meter, which takes 1 to 2 us. Above the limit, also returns free memory to the kernel, at most every 2 s.
  void look();

  // Counts memory of the processes that read files for the recorder. `change`: in bytes.
  void add_elsewhere(int64_t change) { elsewhere_.fetch_add(change, std::memory_order_relaxed); }

  // Adds an estimate of new memory. Reads the meter when 8 MiB have accumulated.
  void grew(size_t bytes);

  [[nodiscard]] bool is_limited() const { return used_.load(std::memory_order_relaxed) >= kLimit; }
  [[nodiscard]] bool is_full() const { return used_.load(std::memory_order_relaxed) >= kFull; }

  // Returns whether a new detail may be stored. If not, counts the detail in left_out().
  bool admit();
  // Reads the meter. Returns whether another process may be recorded. If not, counts it in left_out() as one detail.
  bool admit_process();
  // Reads the meter. Returns how many more bytes the recorder may use to read files.
  uint64_t room();
  // Returns whether this many more bytes may be written about processes. If not, counts them in left_out() as one
  // detail.
  bool admit_written(size_t bytes);
  void leave_out() { left_out_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }

  // Same as admit() and is_limited(), for tables whose budget is optional. A null budget is unlimited.
  static bool admits(MemoryBudget* budget) { return budget == nullptr || budget->admit(); }
  static bool limits(const MemoryBudget* budget) { return budget != nullptr && budget->is_limited(); }

 private:
  void trim();
  void read_meter();

  Meter meter_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> grown_{0};
  std::atomic<int64_t> elsewhere_{0};
  std::atomic<uint64_t> left_out_{0};
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> next_trim_ns_{0};
};

}  // namespace gpuprof::record
