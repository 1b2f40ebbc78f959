// Python code objects: what a source or a process calls by a number of its own becomes a number of the session, by
// which the words of stacks name it on their way to the writer.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

// The code objects of one source or process, by its own numbers.
struct CodeIds {
  static constexpr size_t kMaxCodes = 500'000;
  std::unordered_map<uint32_t, CodeIndex> known;
  size_t bytes = 0;  // of their names, files and line tables
};

// What to do when a number is defined again.
enum class Redefinition : uint8_t {
  ignored,  // of sources: their numbers are never used again
  taken,    // of stack engines: it is another code object from now on
};

class CodeTable {
 public:
  static constexpr CodeIndex kMaxCodes = 16'000'000;                // of the session
  static constexpr size_t kMaxBytes = size_t{512} << 20;            // of all processes that live, and ...
  static constexpr size_t kMaxBytesOfOne = size_t{64} << 20;        // ... of one: further code has no name
  static constexpr size_t kMaxLineTables = kMaxBytesOfOne * 3 / 4;  // further code has only its first line

  explicit CodeTable(MemoryBudget* memory = nullptr) : memory_(memory) {}

  // The number of a code object, which may be defined later; 0: too many.
  CodeIndex mention(CodeIds& ids, uint32_t id);
  void define(CodeIds& ids, profile::ProcessId process, const backend::PythonCode& code, Redefinition again);
  [[nodiscard]] bool is_defined(CodeIndex index) const { return index < defined_.size() && defined_[index]; }

  // Nothing more will come of them.
  void end(const CodeIds& ids) { bytes_ -= ids.bytes; }
  std::vector<NewCode> take_new() { return std::exchange(new_, {}); }

 private:
  CodeIndex next() { return defined_.size() > kMaxCodes ? 0 : static_cast<CodeIndex>(defined_.size()); }

  MemoryBudget* memory_;
  std::vector<bool> defined_ = {true};  // 0 is no code, and is not waited for
  size_t bytes_ = 0;
  std::vector<NewCode> new_;
};

}  // namespace gpuprof::record
