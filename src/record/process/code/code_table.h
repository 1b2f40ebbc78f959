// Numbers Python code objects. Replaces each id of a source or process by a CodeIndex, which is unique in the session.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

// Maps the code object ids of one source or process to the indices of the session.
struct CodeIds {
  static constexpr size_t kMaxCodes = 500'000;
  std::unordered_map<uint32_t, CodeIndex> known;
  size_t bytes = 0;  // total size of names, files and line tables
};

// What define() does if an id is defined again.
enum class Redefinition : uint8_t {
  ignored,  // keep the first definition, because sources do not reuse ids
  taken,    // take the new definition, because stack engines reuse ids
};

class CodeTable {
 public:
  static constexpr CodeIndex kMaxCodes = 16'000'000;  // per session
  // Limit for the names, files and line tables of all live processes.
  static constexpr size_t kMaxBytes = size_t{512} << 20;
  // Limit for one process. Above it, further code objects have no name.
  static constexpr size_t kMaxBytesOfOne = size_t{64} << 20;
  // Limit for one process. Above it, further code objects have no line table.
  static constexpr size_t kMaxLineTables = kMaxBytesOfOne * 3 / 4;

  explicit CodeTable(MemoryBudget* memory = nullptr) : memory_(memory) {}

  // Returns the index for an id, which may be defined later; 0: there are too many code objects.
  CodeIndex mention(CodeIds& ids, uint32_t id);
  void define(CodeIds& ids, profile::ProcessId process, const backend::PythonCode& code, Redefinition again);
  [[nodiscard]] bool is_defined(CodeIndex index) const { return index < defined_.size() && defined_[index]; }

  // Subtracts the size of `ids` from the sum that kMaxBytes limits. Call it when no more code objects of `ids` will
  // arrive.
  void end(const CodeIds& ids) { bytes_ -= ids.bytes; }
  std::vector<NewCode> take_new() { return std::exchange(new_, {}); }

 private:
  CodeIndex next() { return defined_.size() > kMaxCodes ? 0 : static_cast<CodeIndex>(defined_.size()); }

  MemoryBudget* memory_;
  std::vector<bool> defined_ = {true};  // index 0 counts as defined, so no stack waits for it
  size_t bytes_ = 0;
  std::vector<NewCode> new_;
};

}  // namespace gpuprof::record
