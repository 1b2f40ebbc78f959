// Gives the join access to GPU code: record/session/code/gpu_lines implements the interface.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/event_sink.h"
#include "symbolize/source_frame.h"

namespace gpuprof::record {

// Name and hash of a module, as the profile stores them.
struct CodeFacts {
  std::string name;  // for example "sm_90.cubin"
  std::string hash;  // hash of the module's bytes, lower-case hex
};

// In all functions, `module` is the id that the source sent with the module's code; 0: no module.
class CodeReader {
 public:
  CodeReader() = default;
  CodeReader(const CodeReader&) = delete;
  CodeReader& operator=(const CodeReader&) = delete;
  virtual ~CodeReader() = default;

  [[nodiscard]] virtual bool may_come(backend::SourceId source, uint64_t module) const = 0;
  // Returns null if the code has not arrived. The result is valid until the next call.
  virtual const CodeFacts* facts(backend::SourceId source, uint64_t module) = 0;
  // Returns the size of the function's code in bytes; 0: unknown.
  virtual uint64_t code_bytes(backend::SourceId /*source*/, uint64_t /*module*/, std::string_view /*function*/) {
    return 0;
  }
  // Returns the source frames in the order of CubinLines::frames(); empty: unknown.
  virtual std::vector<symbolize::SourceFrame> frames(backend::SourceId source, uint64_t module,
                                                     std::string_view function, uint64_t offset) = 0;
  // Returns the kernel that contains the function. Empty: `function` is itself a kernel, has several callers or is
  // unknown.
  virtual std::string kernel_of(backend::SourceId source, uint64_t module, std::string_view function) = 0;
};

}  // namespace gpuprof::record
