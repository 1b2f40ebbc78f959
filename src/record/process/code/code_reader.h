// Who knows the GPU code that samples were taken in. Implemented by record/session/gpu_lines and by test doubles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/event_sink.h"
#include "symbolize/source_frame.h"

namespace gpuprof::record {

// A module as the profile names it.
struct CodeFacts {
  std::string name;  // "sm_90.cubin"
  std::string hash;  // of its bytes, lower-case hex
};

// Modules are named by the source's own number, as it gave it with the code; 0 is no module.
class CodeReader {
 public:
  CodeReader() = default;
  CodeReader(const CodeReader&) = delete;
  CodeReader& operator=(const CodeReader&) = delete;
  virtual ~CodeReader() = default;

  // Whether the module's code is still on its way.
  [[nodiscard]] virtual bool may_come(backend::SourceId source, uint64_t module) const = 0;
  // Null: its code has not come. Valid until the next call.
  virtual const CodeFacts* facts(backend::SourceId source, uint64_t module) = 0;
  // Of the function's code; 0: not known.
  virtual uint64_t code_bytes(backend::SourceId /*source*/, uint64_t /*module*/, std::string_view /*function*/) {
    return 0;
  }
  // As CubinLines::frames: empty where nothing is known.
  virtual std::vector<symbolize::SourceFrame> frames(backend::SourceId source, uint64_t module,
                                                     std::string_view function, uint64_t offset) = 0;
  // The kernel in whose code the function lies; empty: it is a kernel, or several can call it, or nobody knows.
  virtual std::string kernel_of(backend::SourceId source, uint64_t module, std::string_view function) = 0;
};

}  // namespace gpuprof::record
