// Finds the source lines of samples in GPU code that targets have sent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/ipc/code_objects.h"
#include "record/process/code/code_reader.h"
#include "symbolize/gpu/cubin_lines.h"
#include "symbolize/gpu/disassembler.h"
#include "symbolize/gpu/xe_disassembler.h"
#include "symbolize/gpu/zebin.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::record {

class GpuLines final : public CodeReader {
 public:
  // Limit for the mapped files of code, in bytes. Mappings use address space. They use memory only where lines have
  // been read.
  static constexpr uint64_t kMaxMapped = uint64_t{4} << 30;
  // Limit for zebins. It is lower, because their bytes are copied.
  static constexpr uint64_t kMaxZebins = uint64_t{512} << 20;

  explicit GpuLines(const CodeObjects& code) : code_(code) {}

  [[nodiscard]] bool may_come(backend::SourceId source, uint64_t module) const override;
  uint64_t code_bytes(backend::SourceId source, uint64_t module, std::string_view function) override;
  const CodeFacts* facts(backend::SourceId source, uint64_t module) override;
  std::vector<symbolize::SourceFrame> frames(backend::SourceId source, uint64_t module, std::string_view function,
                                             uint64_t offset) override;
  std::string kernel_of(backend::SourceId source, uint64_t module, std::string_view function) override;

  // Returns the first instructions of a function, up to `limits`. Empty: unknown. A cubin needs `disassembler`.
  std::vector<symbolize::GpuInstruction> instructions(backend::SourceId source, uint64_t module,
                                                      std::string_view function,
                                                      const std::optional<symbolize::Disassembler>& disassembler,
                                                      const symbolize::ReaderLimits& limits);
  [[nodiscard]] bool is_cubin(backend::SourceId source, uint64_t module);

  // Numbers of sampled functions without source lines, because their code was compiled without line information.
  struct Functions {
    size_t in_cubins = 0;
    size_t in_zebins = 0;
  };
  [[nodiscard]] Functions without_lines() const { return without_lines_; }

 private:
  struct Opened {
    MappedCode bytes;
    CodeFacts facts;
    uid_t user = 0;
    std::optional<symbolize::CubinLines> lines;
    std::unordered_map<std::string, std::string> kernels;
    std::unique_ptr<symbolize::Zebin> zebin;
    std::unordered_set<std::string> without_lines;
  };
  void open_cubin(Opened& opened);
  void open_zebin(Opened& opened);
  Opened* open(backend::SourceId source, uint64_t module);

  const CodeObjects& code_;
  std::map<const CodeObject*, Opened> opened_;
  uint64_t mapped_ = 0;
  uint64_t zebins_ = 0;
  symbolize::ReadingBudget budget_;
  Functions without_lines_;
};

}  // namespace gpuprof::record
