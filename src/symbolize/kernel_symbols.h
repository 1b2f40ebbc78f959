// Names for addresses in the kernel, by /proc/kallsyms.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize {

class KernelSymbols {
 public:
  // Read when the first address is to be named. `path`: /proc/kallsyms.
  explicit KernelSymbols(std::string path = "/proc/kallsyms") : path_(std::move(path)) {}

  // Whether its addresses can be seen: the kernel shows zeros to those who may not.
  [[nodiscard]] bool are_shown();

  // Appends the frames of a kernel stack, root first; `addresses` begin with the innermost one. What a tracepoint's own
  // code is, innermost, is left out. One frame "[kernel]" where the addresses of functions are hidden.
  void name(std::span<const uint64_t> addresses, std::vector<SymbolizedFrame>& out);

 private:
  struct Symbol {
    uint64_t address = 0;
    uint32_t name = 0;  // where it begins in texts_: "name\0module\0"
  };
  void read();
  void add(std::string_view line);
  [[nodiscard]] SymbolizedFrame frame_at(uint64_t address) const;

  std::string path_;
  bool has_read_ = false;
  std::vector<Symbol> symbols_;  // sorted
  std::string texts_;
};

}  // namespace gpuprof::symbolize
