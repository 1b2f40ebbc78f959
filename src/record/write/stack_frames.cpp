#include "record/write/stack_frames.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/files/path.h"
#include "base/process/start_up.h"
#include "base/text/utf8.h"
#include "symbolize/python_lines.h"
#include "wire/stack.h"

namespace gpuprof::record {
namespace {

using profile::FrameKind;
using symbolize::SymbolizedFrame;

bool is_python_frame(uint64_t word) {
  return (word & GPUPROF_WORD_PYTHON) != 0;
}

const symbolize::Mapping* mapping_at(const NewStack& stack, uint64_t address) {
  const auto over = std::find_if(stack.over.begin(), stack.over.end(), [address](const auto& mapping) {
    return address >= mapping->start && address < mapping->end;
  });
  return over != stack.over.end() ? over->get() : stack.maps->find(address);
}

const symbolize::Mapping* mapping_of(const NewStack& stack, uint64_t word) {
  return mapping_at(stack, word & GPUPROF_WORD_ADDRESS);
}

SymbolizedFrame mark(FrameKind kind, const char* name) {
  SymbolizedFrame frame;
  frame.kind = kind;
  frame.name = name;
  return frame;
}

// Returns how many words are valid, counted from the innermost. A walk by unwind tables knows where it failed. So if an
// address is in no mapping, it may belong to unloaded code, and the stack stays complete. A walk by frame pointers
// fails without notice in code that uses the register for other values. So the first unmapped address ends the stack.
// If the process ended before its mappings could be read again, some mappings are missing. Then only unmapped words at
// the outermost end are removed.
size_t valid_words(const NewStack& stack) {
  const bool lost = stack.frame_pointers || (stack.flags & GPUPROF_STACK_TRUNCATED) != 0;
  if (!lost || (!stack.frame_pointers && !stack.maps_current)) {
    return stack.words.size();
  }
  const auto unmapped = [&](uint64_t word) { return !is_python_frame(word) && mapping_of(stack, word) == nullptr; };
  if (stack.frame_pointers && stack.maps_current) {
    return static_cast<size_t>(std::find_if(stack.words.begin(), stack.words.end(), unmapped) - stack.words.begin());
  }
  size_t count = stack.words.size();
  while (count > 0 && unmapped(stack.words[count - 1])) {
    --count;
  }
  return count;
}

// Returns whether the outermost frame `first` of a walk by frame pointers is the start of a thread. There are two
// cases. In the first, it is one of libc's start functions, which keep no frame pointer. In the second, the walk ended
// at frame pointer 0, with which threads start according to the ABI, and the frame has no name. A function with a name
// does not prove this, because it may use the register for other values, such as 0.
bool is_first_of_thread(const NewStack& stack, const SymbolizedFrame& first) {
  return is_start_up_function(first.name) ||
         ((stack.flags & GPUPROF_STACK_TRUNCATED) == 0 && first.kind == FrameKind::unknown);
}

// Returns the file that contains Python's evaluation loop; null: the stack has no Python frames.
const symbolize::MappedFile* interpreter_of(const NewStack& stack) {
  if (std::none_of(stack.words.begin(), stack.words.end(), is_python_frame)) {
    return nullptr;
  }
  const auto evaluation = std::find_if(stack.words.begin(), stack.words.end(), [](uint64_t word) {
    return !is_python_frame(word) && (word & GPUPROF_WORD_EVAL) != 0;
  });
  const symbolize::Mapping* mapping =
      mapping_of(stack, evaluation == stack.words.end() ? stack.eval_begin : *evaluation);
  return mapping == nullptr ? nullptr : mapping->file.get();
}

// Returns whether a native frame belongs to the interpreter. Checks the file's name, or the function's name in programs
// that embed CPython.
bool is_interpreter(const symbolize::MappedFile& file, const SymbolizedFrame& frame) {
  const std::string_view program = base_name(file.path);
  if (program.starts_with("python") || program.starts_with("libpython")) {
    return frame.name != "_start";  // in the interpreter's file, only _start is other code
  }
  return frame.name.starts_with("_Py") || frame.name.starts_with("Py");
}

}  // namespace

void StackFrames::add(const NewCode& code) {
  codes_of_[profile::index(code.process)].push_back(code.index);
  codes_.emplace(code.index, code);
}

void StackFrames::forget(profile::ProcessId process) {
  const auto found = codes_of_.find(profile::index(process));
  if (found == codes_of_.end()) {
    return;
  }
  for (const CodeIndex index : found->second) {
    codes_.erase(index);
  }
  codes_of_.erase(found);
}

size_t StackFrames::interrupted_word(const NewStack& stack) const {
  size_t native = 0;  // the last native frames, as positions from 1 on; 0: none
  size_t before = 0;
  for (size_t i = 0; i < stack.words.size(); ++i) {
    if (is_python_frame(stack.words[i])) {
      continue;
    }
    // The handler returns to code of libc, whose frame is between it and the interrupted function.
    if ((stack.words[i] & GPUPROF_WORD_EXACT) != 0 && before != 0 &&
        profiler_libraries_.cover(mapping_of(stack, stack.words[before - 1]))) {
      return native;
    }
    before = std::exchange(native, i + 1);
  }
  return 0;
}

StackFrames::Part StackFrames::part_to_show(const NewStack& stack) const {
  Part part{0, valid_words(stack)};
  part.innermost = std::min(interrupted_word(stack), part.outermost);
  while (part.innermost < part.outermost && !is_python_frame(stack.words[part.innermost]) &&
         profiler_libraries_.cover(mapping_of(stack, stack.words[part.innermost]))) {
    ++part.innermost;
  }
  return part;
}

void StackFrames::add_native(const NewStack& stack, size_t position, std::vector<SymbolizedFrame>& out) {
  const uint64_t word = stack.words[position];
  const bool is_return_address = position != 0 && (word & GPUPROF_WORD_EXACT) == 0;
  const uint64_t address = word & GPUPROF_WORD_ADDRESS;
  // A call may be the last instruction of its function and mapping, so look up the address before the return address.
  const uint64_t inside = is_return_address && address > 0 ? address - 1 : address;
  const symbolize::Mapping* mapping = mapping_at(stack, inside);
  symbolizer_.user_in(*stack.maps, mapping, inside, out);
  if (out.back().kind == FrameKind::unknown) {
    report_denied(stack, mapping);
  }
}

// If a frame has no name because gpuprof may not read a file or process, says so, once for each file or process.
void StackFrames::report_denied(const NewStack& stack, const symbolize::Mapping* mapping) {
  const symbolize::MappedFile* file = mapping == nullptr ? nullptr : mapping->file.get();
  const bool is_file = file != nullptr && file->denied;
  if ((file != nullptr && file->fd) || (!is_file && !stack.maps->denied())) {
    return;
  }
  const std::string what =
      is_file ? escaped(file->path) : "the mappings of process " + std::to_string(stack.process->pid);
  if (denied_.size() < FewWarnings::kMost && denied_.insert(what).second) {
    denied_warnings_.warn("cannot read " + what + ": permission denied; its functions have only addresses, no names",
                          is_file ? "make the file readable for the user who runs it (chmod +r)"
                                  : "the process is not dumpable (prctl), or its user may not read its program");
  }
}

SymbolizedFrame StackFrames::python_frame(uint64_t word) const {
  SymbolizedFrame frame;
  frame.kind = FrameKind::python;
  const auto found = codes_.find(GPUPROF_WORD_PYTHON_CODE(word));
  if (found != codes_.end()) {
    const NewCode& code = found->second;
    frame.name = code.name;
    frame.file = code.file;
    frame.line =
        symbolize::python_line({code.version, code.first_line, code.line_table}, GPUPROF_WORD_PYTHON_OFFSET(word));
  }
  return frame;
}

void StackFrames::of(const NewStack& stack, std::vector<SymbolizedFrame>& out) {
  const Part part = part_to_show(stack);
  if (part.innermost == part.outermost) {
    return;
  }
  const size_t begin = out.size();
  const symbolize::MappedFile* interpreter = interpreter_of(stack);
  bool cut = (stack.flags & GPUPROF_STACK_TRUNCATED) != 0 || part.outermost != stack.words.size();
  for (size_t i = part.outermost; i > part.innermost; --i) {
    const uint64_t word = stack.words[i - 1];
    if (is_python_frame(word)) {
      out.push_back(python_frame(word));
      continue;
    }
    if (profiler_libraries_.cover(mapping_of(stack, word))) {
      continue;  // a hook of gpuprof, between the program and the vendor's library that the hook called
    }
    const size_t first = out.size();
    add_native(stack, i - 1, out);
    if (i == part.outermost && stack.frame_pointers && out.size() > first) {
      cut = part.outermost != stack.words.size() || !is_first_of_thread(stack, out[first]);
    }
    const symbolize::Mapping* mapping = interpreter == nullptr ? nullptr : mapping_of(stack, word);
    if (mapping == nullptr || mapping->file.get() != interpreter) {
      continue;
    }
    for (size_t f = first; f < out.size(); ++f) {
      const bool evaluation = (word & GPUPROF_WORD_EVAL) != 0;
      out[f].kind = evaluation || is_interpreter(*interpreter, out[f]) ? FrameKind::interpreter : out[f].kind;
    }
  }
  if (cut) {
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(begin), mark(FrameKind::truncated, "[truncated]"));
  }
  if ((stack.flags & GPUPROF_STACK_NO_PYTHON) != 0) {
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(begin), mark(FrameKind::unknown, "[no Python frames]"));
  }
}

}  // namespace gpuprof::record
