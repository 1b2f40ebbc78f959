// Parses a zebin, GPU code of Intel's compiler: its kernels, and their source lines if it was built with -g. A zebin
// is an ELF file with a section .text.NAME for each kernel. All these sections have the address 0, and relocations
// give addresses to the DWARF.
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
std::string_view platform_name(GpuPlatform platform);  // "xe_hpc"; "unknown"

class Zebin {
 public:
  struct Kernel {
    std::string name;
    uint64_t bytes = 0;   // size of the kernel's code
    uint64_t offset = 0;  // offset of the kernel's code in the zebin
  };

  // All of `bytes` may be hostile. Null: not a zebin, or too little memory.
  static std::unique_ptr<Zebin> parse(std::span<const std::byte> bytes, ReadingBudget& budget);
  ~Zebin();
  Zebin(const Zebin&) = delete;
  Zebin& operator=(const Zebin&) = delete;

  [[nodiscard]] const std::vector<Kernel>& kernels() const;
  [[nodiscard]] const Kernel* find(std::string_view kernel) const;  // null: not found
  [[nodiscard]] bool has_lines() const;                             // it was compiled with -g or a similar option
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
