// Parses a zebin, the GPU code that Intel's compiler makes: its kernels, and their source lines if they were compiled
// with -g. A zebin is an ELF file with a section .text.NAME for each kernel. All these sections have the address 0,
// so the DWARF gets its addresses by relocations.
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

// Intel's names of instruction encodings.
enum class GpuPlatform : uint8_t { unknown, xe, xe_hp, xe_hpg, xe_hpc, xe2, xe3 };
std::string_view platform_name(GpuPlatform platform);  // for example "xe_hpc"; "unknown" for GpuPlatform::unknown

class Zebin {
 public:
  struct Kernel {
    std::string name;
    uint64_t bytes = 0;
    uint64_t offset = 0;  // offset of the code in the zebin
  };

  // All of `bytes` may be hostile. Returns null if they are not a zebin, or if there is too little memory.
  static std::unique_ptr<Zebin> parse(std::span<const std::byte> bytes, ReadingBudget& budget);
  ~Zebin();
  Zebin(const Zebin&) = delete;
  Zebin& operator=(const Zebin&) = delete;

  [[nodiscard]] const std::vector<Kernel>& kernels() const;
  [[nodiscard]] const Kernel* find(std::string_view kernel) const;  // null if not found
  [[nodiscard]] bool has_lines() const;                             // true if compiled with -g or a similar option
  [[nodiscard]] GpuPlatform platform() const;

  // Returns the function at `offset` bytes into the kernel's code, and the functions inlined there, outermost first.
  // At offset 0, returns the kernel's first line. Empty: unknown.
  std::vector<SourceFrame> lines(std::string_view kernel, uint64_t offset);

 private:
  struct State;
  explicit Zebin(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::symbolize
