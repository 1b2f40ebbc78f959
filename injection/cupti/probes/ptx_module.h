#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cupti/probes/ptx_lexer.h"

namespace gpuprof::injection::cupti {

// The parts of a kernel's text.
struct PtxKernel {
  std::string_view name;
  std::string_view parameters;  // the text between the parentheses
  std::string_view limits;      // from the parameters to the body: directives like .maxntid
  std::string_view body;        // with its braces
  uint32_t params;
  uint64_t shared_bytes;
  size_t labels;
  bool limits_registers;
  bool has_cluster;
  bool is_known;        // all directives and declarations are known
  bool large_operands;  // it has instructions whose operands in shared memory are aligned to 128 to 1024 bytes
};

// What all kernels of a module share. Complete when next_kernel has returned PtxStep::end.
struct PtxModule {
  uint64_t shared_bytes = 0;
  bool launches_kernels = false;
  bool exits_in_function = false;
  bool is_known = true;
  bool large_operands = false;
};

enum class PtxStep : uint8_t { kernel, end, error };

// Reads up to the next kernel that has a body.
PtxStep next_kernel(PtxLexer* lexer, PtxKernel* kernel, PtxModule* module);

}  // namespace gpuprof::injection::cupti
