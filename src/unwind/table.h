// The unwind rules of a whole ELF file, compact and sorted, so that they can be searched by address and copied as they
// are into the arrays of a BPF program.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "symbolize/elf/elf_image.h"
#include "wire/stack.h"

namespace gpuprof::unwind {

struct FrameSections;

// Addresses are the file's own (ELF virtual addresses); vaddr_of() gives them from where a mapping has its bytes.
//
// Row i says: from base() + pcs()[i] up to base() + pcs()[i + 1] holds rules()[rule_indexes()[i]]. Rows are strictly
// ascending, neighbours differ in their rules, the first is at 0, the last has GPUPROF_UNWIND_NONE and holds for all
// that follows. Where no function is there are rows with GPUPROF_UNWIND_NONE. rules()[0] is GPUPROF_UNWIND_NONE.
//
// pages() shortens the search: with page = (vaddr - base()) >> kPageShift, the row of vaddr is one of
// pages()[page] ... pages()[page + 1], both included. From page_count() on there is no rule.
class Table {
 public:
  static constexpr unsigned kPageShift = 12;
  static constexpr uint32_t kMaxRules = 1 << 16;  // further rules become GPUPROF_UNWIND_NONE
  static constexpr uint32_t kMaxRows = 1U << 26;  // files with more of them get no table
  // Beyond one for each row: two functions of a small file may say that they are 4 GB apart.
  static constexpr uint32_t kMaxEmptyPages = 1U << 16;

  // From .eh_frame, and for functions that it does not have from .debug_frame. Reads whole sections: up to a second
  // for the largest libraries. Null where there is neither, or the file is of another architecture.
  static std::shared_ptr<const Table> build(const symbolize::ElfImage& image);
  // Of a file's bytes in memory, such as the vdso, which are not needed afterwards.
  static std::shared_ptr<const Table> build(std::span<const uint8_t> image);

  // GPUPROF_UNWIND_NONE where nothing is known.
  [[nodiscard]] uint64_t find(uint64_t vaddr) const;

  // See ElfImage::vaddr_of: for an address a in a mapping, file_offset is a - mapping.start + mapping.offset.
  [[nodiscard]] std::optional<uint64_t> vaddr_of(uint64_t file_offset, uint64_t mapping_offset) const {
    return headers_ ? headers_->vaddr_of(file_offset, mapping_offset) : std::nullopt;
  }

  [[nodiscard]] uint64_t base() const { return base_; }
  [[nodiscard]] std::span<const uint32_t> pcs() const { return pcs_; }
  [[nodiscard]] std::span<const uint16_t> rule_indexes() const { return rule_indexes_; }
  [[nodiscard]] std::span<const uint64_t> rules() const { return rules_; }
  [[nodiscard]] std::span<const uint32_t> pages() const { return pages_; }
  [[nodiscard]] size_t page_count() const { return pages_.empty() ? 0 : pages_.size() - 1; }
  [[nodiscard]] uint64_t bytes() const;  // of memory

 private:
  friend class TableBuilder;
  friend class TableFile;
  friend class TableCache;
  Table() = default;
  static std::shared_ptr<const Table> build(const symbolize::ElfImage& image, const FrameSections& sections);
  [[nodiscard]] bool valid() const;       // as described above, but for pages_
  [[nodiscard]] bool too_sparse() const;  // its pages would take more memory than the file is worth
  void index_pages();

  uint64_t base_ = 0;
  std::vector<uint32_t> pcs_;
  std::vector<uint16_t> rule_indexes_;
  std::vector<uint64_t> rules_;
  std::vector<uint32_t> pages_;
  std::optional<symbolize::ElfImage> headers_;  // for vaddr_of() only: its source may be closed
};

}  // namespace gpuprof::unwind
