// Names addresses: functions, inlined functions, source lines, code of just-in-time compilers. Not thread-safe: one
// thread owns a Symbolizer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/file_names.h"
#include "symbolize/process_maps.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::symbolize {

using MakeFileNames = std::function<std::unique_ptr<FileNames>(ReadingBudget&)>;

struct SymbolizerOptions {
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};  // folders with separate debug files
  bool debuginfod = true;  // ask the debuginfod servers in DEBUGINFOD_URLS; may take seconds
  ReadingLimits limits;
  // Returns how much memory is left for reading files. An empty function means unlimited.
  ReadingBudget::Headroom room = {};
  // Names the code of files. Empty: LocalNames with the options above.
  MakeFileNames names = {};
};

class Symbolizer {
 public:
  explicit Symbolizer(const SymbolizerOptions& options = {});
  ~Symbolizer();

  // Names one user-space address. For a return address, pass the address before it, because a call may be the last
  // instruction of its function. `mapping` is the mapping that holds the address, or null. It need not be in `maps`.
  // Appends at least one frame, and one for each inlined function, outermost first. Does not refresh `maps`: the
  // caller must call maps.refresh() if the address may be newer than `maps`.
  void user_in(const ProcessMaps& maps, const Mapping* mapping, uint64_t address, std::vector<SymbolizedFrame>& out);

  // Returns the limits of this symbolizer. Any thread may call ReadingBudget::end() on them.
  [[nodiscard]] ReadingBudget& budget();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Demangles C++ (Itanium ABI) and Rust (legacy and v0) names; returns others unchanged. Safe for hostile input.
std::string demangle(std::string_view name);

}  // namespace gpuprof::symbolize
