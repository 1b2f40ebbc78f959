// Finds the source lines of samples in GPU code that targets have sent. Another process parses it (reader/process.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reader/code_function.h"
#include "reader/process.h"
#include "record/ipc/code_objects.h"
#include "record/memory_budget.h"
#include "record/process/code/code_reader.h"
#include "symbolize/gpu/disassembler.h"
#include "symbolize/gpu/xe_disassembler.h"

namespace gpuprof::record {

class GpuLines final : public CodeReader {
 public:
  // Limits for the code that is read, in bytes. Cubins are mapped, zebins are copied.
  static constexpr uint64_t kMaxCubins = uint64_t{2} << 30;
  static constexpr uint64_t kMaxZebins = uint64_t{512} << 20;

  GpuLines(CodeObjects& code, std::shared_ptr<MemoryBudget> memory);

  [[nodiscard]] bool may_come(backend::SourceId source, uint64_t module) const override;
  uint64_t code_bytes(backend::SourceId source, uint64_t module, std::string_view function) override;
  const CodeFacts* facts(backend::SourceId source, uint64_t module) override;
  std::vector<symbolize::SourceFrame> frames(backend::SourceId source, uint64_t module, std::string_view function,
                                             uint64_t offset) override;
  std::string kernel_of(backend::SourceId source, uint64_t module, std::string_view function) override;

  // Returns the first instructions of a function, up to `limits`. Empty: unknown. A cubin needs `disassembler`. Reads
  // the code after the recording.
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
  struct Function {
    reader::CodeFunction facts;
    bool is_counted = false;  // in without_lines_
  };
  struct Opened {
    uint64_t id = 0;
    const CodeObject* object = nullptr;
    bool is_cubin = false;
    // `unsent`: the process has not seen it yet.
    enum class State : uint8_t { unsent, valid, unusable } state = State::unsent;
    symbolize::GpuPlatform platform = symbolize::GpuPlatform::unknown;
    CodeFacts facts;
    uint64_t generation = 0;  // the process that has opened it
    std::unordered_map<std::string, Function> functions;
  };
  Opened* open(backend::SourceId source, uint64_t module);
  bool send(Opened& opened);
  void note_failure(Opened& opened);
  Function* function(Opened& opened, std::string_view name);
  std::optional<reader::Message> ask(Opened& opened, const reader::Message& request);
  std::optional<reader::Message> ask_in_time(Opened& opened, const reader::Process::Request& request);

  CodeObjects& code_;
  std::shared_ptr<MemoryBudget> memory_;
  reader::Process reader_;
  std::map<const CodeObject*, Opened> opened_;
  uint64_t cubins_ = 0;
  uint64_t zebins_ = 0;
  uint64_t begun_ns_ = 0;
  uint64_t waited_ns_ = 0;
  bool warned_ = false;
  Functions without_lines_;
};

}  // namespace gpuprof::record
