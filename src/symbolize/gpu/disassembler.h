// Disassembles cubins with NVIDIA's nvdisasm, if it is installed. Optional.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolize/gpu/code_reader_process.h"
#include "symbolize/gpu/cubin_image.h"

namespace gpuprof::symbolize {

struct GpuInstruction {
  uint64_t offset = 0;  // from the start of the function
  std::string text;     // for example "@P0 LDG.E R0, [R2.64]"
  // Offset in the function of the label that the instruction names. nullopt: it names no label, or one outside the
  // function.
  std::optional<uint64_t> target;
};

// Parses the output of `nvdisasm -c`. Returns the instructions of `function`, sorted by offset. Empty if the output
// has several code sections and none is named after the function.
std::vector<GpuInstruction> parse_disassembly(std::string_view text, const CubinFunction& function);

class Disassembler {
 public:
  using Limits = ReaderLimits;

  // Finds nvdisasm in a search path like PATH: in its first absolute folder with an executable nvdisasm.
  static std::optional<Disassembler> find(std::string_view search_path);
  explicit Disassembler(std::string program) : program_(std::move(program)) {}

  [[nodiscard]] const std::string& program() const { return program_; }

  // Returns the instructions of `function`, which must be from CubinLines::functions() of the same cubin. If nvdisasm
  // fails or a limit is reached, returns only the first instructions, or none. Runs it with run_on_code(). `cubin`: an
  // open file.
  [[nodiscard]] std::vector<GpuInstruction> run(int cubin, const CubinFunction& function, const Limits& limits) const;

 private:
  std::string program_;
};

}  // namespace gpuprof::symbolize
