#include "record/memory_budget.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/clock.h"
#include "base/files/safe_open.h"
#include "base/unique_fd.h"

namespace gpuprof::record {
namespace {

// malloc_trim() takes tens of milliseconds if much memory is free.
constexpr uint64_t kTrimIntervalNs = 2'000'000'000;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Returns the private memory in pages from "size resident shared ...".
uint64_t private_pages(std::string_view statm) {
  std::array<uint64_t, 3> numbers{};
  const char* at = statm.data();
  const char* const end = at + statm.size();
  for (uint64_t& number : numbers) {
    while (at != end && *at == ' ') {
      ++at;
    }
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc()) {
      return 0;
    }
    at = parsed.ptr;
  }
  return numbers[1] > numbers[2] ? numbers[1] - numbers[2] : 0;
}

}  // namespace

uint64_t own_memory() {
  if (kSanitized) {
    return 0;
  }
  static const UniqueFd file = open_regular(AT_FDCWD, "/proc/self/statm");
  std::array<char, 128> text{};
  const ssize_t bytes = ::pread(file.get(), text.data(), text.size(), 0);
  return bytes <= 0 ? 0
                    : private_pages({text.data(), static_cast<size_t>(bytes)}) *
                          static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void MemoryBudget::read_meter() {
  const int64_t elsewhere = elsewhere_.load(std::memory_order_relaxed);
  used_.store(meter_() + static_cast<uint64_t>(std::max<int64_t>(elsewhere, 0)), std::memory_order_relaxed);
}

void MemoryBudget::look() {
  read_meter();
  if (is_limited()) {
    trim();
  }
}

// Returns freed memory to the kernel, because the meter counts memory that malloc holds as used.
void MemoryBudget::trim() {
  const uint64_t now = monotonic_ns();
  uint64_t next = next_trim_ns_.load(std::memory_order_relaxed);
  if (now < next || !next_trim_ns_.compare_exchange_strong(next, now + kTrimIntervalNs)) {
    return;
  }
  ::malloc_trim(0);
  read_meter();
}

void MemoryBudget::grew(size_t bytes) {
  if (grown_.fetch_add(bytes, std::memory_order_relaxed) + bytes >= kLookBytes) {
    grown_.store(0, std::memory_order_relaxed);
    look();
  }
}

uint64_t MemoryBudget::room() {
  look();
  const uint64_t used = used_.load(std::memory_order_relaxed);
  return used < kReading ? kReading - used : 0;
}

bool MemoryBudget::admit_process() {
  look();
  if (is_full() || written_.load(std::memory_order_relaxed) >= kWritten) {
    leave_out();
    return false;
  }
  return true;
}

bool MemoryBudget::admit_written(size_t bytes) {
  if (written_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kWritten) {
    return true;
  }
  leave_out();
  return false;
}

bool MemoryBudget::admit() {
  if (is_limited()) {
    leave_out();
    return false;
  }
  return true;
}

}  // namespace gpuprof::record
