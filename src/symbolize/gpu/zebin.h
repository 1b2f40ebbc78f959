// GPU code of Intel's compiler (a zebin): its kernels, and their source lines where it was built with -g. An ELF file
// with a section .text.NAME for each kernel, all of which begin at address 0; relocations give its DWARF their
// addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/elf/dwarf_lines.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::symbolize {

// What instructions are encoded for, as Intel calls it.
enum class GpuPlatform : uint8_t { unknown, xe, xe_hp, xe_hpg, xe_hpc, xe2, xe3 };
std::string_view platform_name(GpuPlatform platform);  // "xe_hpc"; "unknown"

class Zebin {
 public:
  struct Kernel {
    std::string name;
    uint64_t bytes = 0;   // of its code
    uint64_t offset = 0;  // of its code in the zebin
  };

  // Everything in `bytes` is hostile. Null when they are no zebin, or there is no room for them.
  static std::unique_ptr<Zebin> parse(std::span<const std::byte> bytes, ReadingBudget& budget);
  ~Zebin();
  Zebin(const Zebin&) = delete;
  Zebin& operator=(const Zebin&) = delete;

  [[nodiscard]] const std::vector<Kernel>& kernels() const;
  [[nodiscard]] const Kernel* find(std::string_view kernel) const;  // null: it has none of that name
  [[nodiscard]] bool has_lines() const;                             // it was compiled with -g, or the like
  // As its notes say.
  [[nodiscard]] GpuPlatform platform() const;

  // The function at `offset` bytes into the kernel's code and what is inlined there, outermost first; at 0, the
  // kernel's first line. Empty where the zebin does not say.
  std::vector<SourceFrame> lines(std::string_view kernel, uint64_t offset);

 private:
  struct State;
  explicit Zebin(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::symbolize
