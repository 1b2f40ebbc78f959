// A vector for large data with random access. It uses huge pages, which need fewer page table walks and allocations.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace gpuprof {

template <typename T>
class LargeAllocator {
 public:
  using value_type = T;

  LargeAllocator() = default;
  template <typename Other>
  LargeAllocator(const LargeAllocator<Other>& /*unused*/) {}  // NOLINT(google-explicit-constructor): an allocator's

  T* allocate(size_t count) {
    if (count < kFewest) {
      return std::allocator<T>().allocate(count);
    }
    // Aligns the memory to huge pages, and unmaps what is left over at both ends.
    const size_t bytes = rounded(count);
    void* const memory =
        ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::bad_alloc();
    }
    auto* const begin = static_cast<std::byte*>(memory);
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
    if (before != 0) {
      ::munmap(begin, before);
    }
    ::munmap(begin + before + bytes, kHugePage - before);
    ::madvise(begin + before, bytes, MADV_HUGEPAGE);  // has no effect if the kernel has no huge pages
    return reinterpret_cast<T*>(begin + before);
  }

  void deallocate(T* memory, size_t count) {
    if (count < kFewest) {
      std::allocator<T>().deallocate(memory, count);
    } else {
      ::munmap(memory, rounded(count));
    }
  }

  bool operator==(const LargeAllocator&) const = default;

 private:
  static constexpr size_t kHugePage = size_t{2} << 20U;
  // Smaller vectors use ordinary memory, because rounding their size up to complete huge pages would waste too much.
  static constexpr size_t kFewest = 2 * kHugePage / sizeof(T) + 1;

  static size_t rounded(size_t count) { return (count * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage; }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace gpuprof
