#include "record/process/code/code_table.h"

namespace gpuprof::record {

CodeIndex CodeTable::mention(CodeIds& ids, uint32_t id) {
  const auto known = ids.known.find(id);
  if (known != ids.known.end()) {
    return known->second;
  }
  const CodeIndex index = ids.known.size() < CodeIds::kMaxCodes && MemoryBudget::admits(memory_) ? next() : 0;
  if (index != 0) {
    defined_.push_back(false);
    ids.known.emplace(id, index);
  }
  return index;
}

void CodeTable::define(CodeIds& ids, profile::ProcessId process, const backend::PythonCode& code, Redefinition again) {
  CodeIndex index = mention(ids, code.id);
  if (index == 0) {
    return;
  }
  if (defined_[index]) {
    index = again == Redefinition::taken ? next() : 0;
    if (index == 0) {
      return;
    }
    defined_.push_back(false);
    ids.known[code.id] = index;
  }
  defined_[index] = true;
  if (!MemoryBudget::admits(memory_)) {
    return;
  }
  NewCode made;
  made.index = index;
  made.process = process;
  made.version = code.version;
  made.first_line = code.first_line;
  const auto take = [&](size_t bytes, size_t limit) {
    const bool fits = ids.bytes + bytes <= limit && bytes_ + bytes <= kMaxBytes;
    ids.bytes += fits ? bytes : 0;
    bytes_ += fits ? bytes : 0;
    return fits;
  };
  if (take(code.name.size() + code.file.size(), kMaxBytesOfOne)) {
    made.name = code.name;
    made.file = code.file;
  }
  if (take(code.line_table.size(), kMaxLineTables)) {
    made.line_table.assign(code.line_table.begin(), code.line_table.end());
  }
  new_.push_back(std::move(made));
}

}  // namespace gpuprof::record
