// The unwind rules of an ELF file, compact and sorted. They can be searched, and copied directly into BPF arrays.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "symbolize/elf/elf_image.h"
#include "wire/stack.h"

namespace gpuprof::unwind {

struct FrameSections;

// Identifies what a table is built from: FrameSections::digest().
using TableSource = std::array<uint8_t, 32>;

// Addresses are ELF virtual addresses of the file. vaddr_of() computes them from a mapping's file offset.
//
// Row i: from base() + pcs()[i] up to base() + pcs()[i + 1], rules()[rule_indexes()[i]] holds. Rows ascend strictly,
// and neighbours have different rules. The first row is at 0. The last one has GPUPROF_UNWIND_NONE and holds for all
// higher addresses. Ranges without a function have GPUPROF_UNWIND_NONE, which is also rules()[0].
//
// pages() shortens the search. With page = (vaddr - base()) >> kPageShift, the row of vaddr lies in
// [pages()[page], pages()[page + 1]], both included. Pages from page_count() on have no rules.
class Table {
 public:
  static constexpr unsigned kPageShift = 12;
  static constexpr uint32_t kMaxRules = 1 << 16;  // rules beyond this number become GPUPROF_UNWIND_NONE
  static constexpr uint32_t kMaxRows = 1U << 26;  // files with more rows get no table
  // Files with more pages than rows + kMaxEmptyPages get no table: a small file may claim functions 4 GB apart.
  static constexpr uint32_t kMaxEmptyPages = 1U << 16;

  // Builds a table from .eh_frame, and from .debug_frame for functions that .eh_frame lacks. Takes up to 1 s for the
  // largest libraries. Returns null if the file has neither section, or is for another architecture.
  static std::shared_ptr<const Table> build(const symbolize::ElfImage& image);
  // Builds a table from a file in memory, such as the vdso. The table does not refer to these bytes.
  static std::shared_ptr<const Table> build(std::span<const uint8_t> image);

  // Returns GPUPROF_UNWIND_NONE if no rule is known.
  [[nodiscard]] uint64_t find(uint64_t vaddr) const;

  // See ElfImage::vaddr_of. For `address` in a mapping, file_offset is address - mapping.start + mapping.offset.
  [[nodiscard]] std::optional<uint64_t> vaddr_of(uint64_t file_offset, uint64_t mapping_offset) const {
    return symbolize::vaddr_in(segments_, file_offset, mapping_offset);
  }

  [[nodiscard]] uint64_t base() const { return base_; }
  [[nodiscard]] std::span<const uint32_t> pcs() const { return pcs_; }
  [[nodiscard]] std::span<const uint16_t> rule_indexes() const { return rule_indexes_; }
  [[nodiscard]] std::span<const uint64_t> rules() const { return rules_; }
  [[nodiscard]] std::span<const uint32_t> pages() const { return pages_; }
  [[nodiscard]] size_t page_count() const { return pages_.empty() ? 0 : pages_.size() - 1; }
  [[nodiscard]] uint64_t bytes() const;  // memory use in bytes

 private:
  friend class TableBuilder;
  friend class TableFile;
  friend class TableCache;
  Table() = default;
  static std::shared_ptr<const Table> build(const symbolize::ElfImage& image, const FrameSections& sections);
  [[nodiscard]] bool valid() const;       // checks the conditions in the class comment, except those for pages_
  [[nodiscard]] bool too_sparse() const;  // pages_ would take too much memory
  void index_pages();

  uint64_t base_ = 0;
  std::vector<uint32_t> pcs_;
  std::vector<uint16_t> rule_indexes_;
  std::vector<uint64_t> rules_;
  std::vector<uint32_t> pages_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace gpuprof::unwind
