// The kernel's functions, from a file in the form of /proc/kallsyms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::symbolize {

class KernelSymbols {
 public:
  struct Found {
    std::string_view name;
    std::string_view module;  // "[kernel]" or, as the file has it, "[i915]"
  };

  // Empty when the file can not be read or shows no addresses (kernel.kptr_restrict).
  static KernelSymbols load(const std::string& path);

  // An empty name: no function there. Valid as long as this object.
  [[nodiscard]] Found find(uint64_t address) const;
  [[nodiscard]] bool empty() const { return symbols_.empty(); }

 private:
  struct Symbol {
    uint64_t address;
    uint32_t name;    // offset in text_, NUL-terminated; 0 marks the end of a function without a name of its own
    uint32_t module;  // offset in text_
  };

  void add_line(std::string_view line);
  [[nodiscard]] uint32_t intern_module(std::string_view module);

  std::vector<Symbol> symbols_;
  std::string text_ = std::string(1, '\0');
  std::string last_module_;
  uint32_t last_module_offset_ = 0;
};

}  // namespace gpuprof::symbolize
