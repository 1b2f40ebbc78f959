// Names for addresses: functions, inlined functions, source lines. Built on elfutils (libelf, libdw); symbol
// tables are read once per file and kept sorted, DWARF is read where the file or its debug file has it.
// Not thread-safe: one thread owns a Symbolizer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profile/records.h"
#include "symbolize/process_maps.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::symbolize {

struct SymbolizedFrame {
  profile::FrameKind kind = profile::FrameKind::unknown;
  std::string name;  // demangled; "[libfoo.so+0x12ab]" or "[unknown]" where there is no symbol
  std::string file;  // source file; empty if not known
  uint32_t line = 0;
  std::string module;    // path of the mapped file, "[vdso]", "[kernel]", "perf-PID.map"
  std::string build_id;  // lower-case hex
  // The address that was looked up (one less than a return address), in the module as its ELF file counts; as given
  // where there is no module.
  uint64_t address = 0;
};

struct SymbolizerOptions {
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};  // of separate debug files
  bool debuginfod = true;  // ask debuginfod servers, where the user names some in DEBUGINFOD_URLS; may take seconds
  ReadingLimits limits;
  ReadingBudget::Room room = {};  // empty: as much as the limits allow
};

class Symbolizer {
 public:
  explicit Symbolizer(SymbolizerOptions options = {});
  ~Symbolizer();

  // Names one user-space address, which is looked up as it is: of a return address, give the byte before it, for a call
  // may be the last instruction of its function. `mapping`: the one that holds it, which need not be one of `maps`;
  // null for none. Appends at least one frame; where code was inlined, one for each function, the outermost first.
  // Mappings are asked for, never refreshed: call maps.refresh() where the address may be newer than they are.
  void user_in(const ProcessMaps& maps, const Mapping* mapping, uint64_t address, std::vector<SymbolizedFrame>& out);

  // What may be read for all that; ReadingBudget::end() by any thread.
  [[nodiscard]] ReadingBudget& budget();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// C++ (Itanium ABI) and Rust (legacy and v0) names; anything else comes back unchanged. Safe for hostile input.
std::string demangle(std::string_view name);

}  // namespace gpuprof::symbolize
