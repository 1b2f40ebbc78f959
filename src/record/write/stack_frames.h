// Converts the words of a stack to frames. The words of native frames are addresses, those of Python frames refer to
// code objects.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/few_warnings.h"
#include "profile/records.h"
#include "record/batch.h"
#include "record/process/profiler_libraries.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::record {

class StackFrames {
 public:
  // `room` returns how many bytes of memory may still be used to read files.
  explicit StackFrames(ProfilerLibraries profiler_libraries, const symbolize::SymbolizerOptions& options = {})
      : profiler_libraries_(std::move(profiler_libraries)), symbolizer_(options) {}

  void add(const NewCode& code);  // call it before of() for stacks that contain the code
  void forget(profile::ProcessId process);

  [[nodiscard]] symbolize::ReadingBudget& budget() { return symbolizer_.budget(); }

  // Appends the frames, outermost first, and a marker if the stack was cut. Appends nothing for stacks with only
  // profiler frames.
  void of(const NewStack& stack, std::vector<symbolize::SymbolizedFrame>& out);

  // Returns whether the stack was taken in gpuprof's signal handler. Then of() ends with the interrupted function, and
  // the kernel's frames are not the program's.
  [[nodiscard]] bool in_own_handler(const NewStack& stack) const { return interrupted_word(stack) != 0; }

 private:
  // A range of words: `innermost` is the first, `outermost` is one past the last.
  struct Part {
    size_t innermost = 0;
    size_t outermost = 0;
  };
  // Returns the index of the innermost word of the code that gpuprof's signal handler has interrupted; 0: no handler.
  [[nodiscard]] size_t interrupted_word(const NewStack& stack) const;
  [[nodiscard]] Part part_to_show(const NewStack& stack) const;
  void add_native(const NewStack& stack, size_t position, std::vector<symbolize::SymbolizedFrame>& out);
  void report_denied(const NewStack& stack, const symbolize::Mapping* mapping);
  [[nodiscard]] symbolize::SymbolizedFrame python_frame(uint64_t word) const;

  ProfilerLibraries profiler_libraries_;
  symbolize::Symbolizer symbolizer_;
  std::unordered_map<CodeIndex, NewCode> codes_;
  std::unordered_map<uint32_t, std::vector<CodeIndex>> codes_of_;
  // Files and mappings that have been reported; at most FewWarnings::kMost.
  std::set<std::string> denied_;
  FewWarnings denied_warnings_;
};

}  // namespace gpuprof::record
