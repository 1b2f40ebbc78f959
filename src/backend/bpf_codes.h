// Joins the pieces of Python code objects that the BPF programs send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "wire/bpf_events.h"

namespace gpuprof::backend {

// Decodes a Python string that has `kind` bytes per character (see gpuprof_bpf_code). Invalid characters become
// U+FFFD. With `cut`, appends "...". Returns at most GPUPROF_BPF_CODE_TEXT bytes, or an empty string if `kind` is
// invalid.
std::string decode_python_text(std::span<const uint8_t> characters, unsigned kind, bool cut);

class BpfCodes {
 public:
  using Take = std::function<void(uint32_t pid, const PythonCode& code)>;

  // Check and store events of the types GPUPROF_BPF_CODE and GPUPROF_BPF_LINES. `take` receives a code object when it
  // is complete.
  void on_code(std::span<const std::byte> event, const Take& take);
  void on_lines(std::span<const std::byte> event, const Take& take);

 private:
  struct Code {
    uint32_t pid = 0;
    uint32_t id = 0;
    uint32_t version = 0;
    uint32_t first_line = 0;
    std::string name;
    std::string file;
    std::vector<uint8_t> lines;
    uint32_t line_bytes = 0;
    uint64_t number = 0;  // its position in the order in which code objects began to arrive
  };
  static void deliver(const Code& code, const Take& take);

  std::unordered_map<uint32_t, Code> unfinished_;
  uint64_t last_number_ = 0;
};

}  // namespace gpuprof::backend
