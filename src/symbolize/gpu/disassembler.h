// Instructions of a cubin as text, where NVIDIA's nvdisasm is on the machine. Nothing needs them.
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
  uint64_t offset = 0;             // from where the function begins
  std::string text;                // "@P0 LDG.E R0, [R2.64]"
  std::optional<uint64_t> target;  // of a label that it names, which is in the function; from its begin, too
};

// Out of what `nvdisasm -c` prints: the instructions of `function`, by offset. None where it prints several sections of
// code and none of them is named after the function.
std::vector<GpuInstruction> parse_disassembly(std::string_view text, const CubinFunction& function);

class Disassembler {
 public:
  using Owner = CodeOwner;
  using Limits = ReaderLimits;

  // The nvdisasm of a search path, as PATH is one: the first absolute folder of it that has one that we may run.
  static std::optional<Disassembler> find(std::string_view search_path);
  explicit Disassembler(std::string program) : program_(std::move(program)) {}

  [[nodiscard]] const std::string& program() const { return program_; }

  // The instructions of a function that CubinLines::functions() has of the same bytes. None, or only the first ones,
  // where nvdisasm fails or a limit is reached. It runs as of run_on_code().
  [[nodiscard]] std::vector<GpuInstruction> run(std::span<const std::byte> cubin, const CubinFunction& function,
                                                const Owner& owner, const Limits& limits) const;
  [[nodiscard]] std::vector<GpuInstruction> run(std::span<const std::byte> cubin, const CubinFunction& function,
                                                const Owner& owner) const {
    return run(cubin, function, owner, Limits());
  }

 private:
  std::string program_;
};

}  // namespace gpuprof::symbolize
