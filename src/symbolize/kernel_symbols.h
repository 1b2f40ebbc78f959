// Names kernel addresses with /proc/kallsyms.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize {

class KernelSymbols {
 public:
  // Reads the file when the first address is to be named. Tests pass another `path`.
  explicit KernelSymbols(std::string path = "/proc/kallsyms") : path_(std::move(path)) {}

  // Whether /proc/kallsyms shows addresses. The kernel shows zeros to unprivileged users.
  [[nodiscard]] bool are_shown();

  // Appends the frames of a kernel stack, outermost first; `addresses` are innermost first. Leaves out the innermost
  // frames that belong to a tracepoint. If the kernel hides addresses, appends the single frame "[kernel]".
  void name(std::span<const uint64_t> addresses, std::vector<SymbolizedFrame>& out);

 private:
  struct Symbol {
    uint64_t address = 0;
    uint32_t name = 0;  // offset in texts_ of "name\0module\0"
  };
  void read();
  void add(std::string_view line);
  [[nodiscard]] SymbolizedFrame frame_at(uint64_t address) const;

  std::string path_;
  bool has_read_ = false;
  std::vector<Symbol> symbols_;  // sorted by address
  std::string texts_;
};

}  // namespace gpuprof::symbolize
