// From the words of a stack to its frames: native ones by their addresses, Python's by their code objects.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/records.h"
#include "record/batch.h"
#include "record/process/instruments.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::record {

class StackFrames {
 public:
  // `room`: how much memory may still be taken to read files.
  explicit StackFrames(Instruments instruments, symbolize::ReadingBudget::Room room = {})
      : instruments_(std::move(instruments)), symbolizer_({.room = std::move(room)}) {}

  void add(const NewCode& code);            // before the stacks that name it
  void forget(profile::ProcessId process);  // its code objects

  // For the names of native frames.
  [[nodiscard]] symbolize::ReadingBudget& budget() { return symbolizer_.budget(); }

  // Appends the frames of a stack, root first; a cut is marked by a frame. None: it holds instruments alone.
  void of(const NewStack& stack, std::vector<symbolize::SymbolizedFrame>& out);

 private:
  // Part of a stack's words, by their positions: [innermost, outermost).
  struct Part {
    size_t innermost = 0;
    size_t outermost = 0;
  };
  [[nodiscard]] Part part_to_show(const NewStack& stack) const;
  void add_native(const NewStack& stack, size_t position, std::vector<symbolize::SymbolizedFrame>& out);
  [[nodiscard]] symbolize::SymbolizedFrame python_frame(uint64_t word) const;

  Instruments instruments_;
  symbolize::Symbolizer symbolizer_;
  std::unordered_map<CodeIndex, NewCode> codes_;
  std::unordered_map<uint32_t, std::vector<CodeIndex>> codes_of_;  // by process
};

}  // namespace gpuprof::record
