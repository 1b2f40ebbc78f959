#include "record/session/gpu_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/code.h"

namespace gpuprof::record {
namespace {

std::string hex(const CodeHash& hash) {
  return fmt::format("{:016x}{:016x}", hash[0], hash[1]);
}

}  // namespace

// Targets hand code over beside the rings, and not before it runs.
bool GpuLines::may_come(backend::SourceId source, uint64_t module) const {
  return code_.find(source, module) == nullptr;
}

GpuLines::Opened* GpuLines::open(backend::SourceId source, uint64_t module) {
  const CodeObject* const object = code_.find(source, module);
  if (object == nullptr) {
    return nullptr;
  }
  const auto [known, fresh] = opened_.try_emplace(object);
  Opened& opened = known->second;
  if (!fresh) {
    return &opened;
  }
  opened.user = object->user;
  opened.facts = {.name = object->kind == GPUPROF_CODE_CUBIN ? "cubin" : "zebin", .hash = hex(object->hash)};
  if (object->kind != GPUPROF_CODE_CUBIN || object->bytes > kMaxMapped - mapped_) {
    return &opened;
  }
  mapped_ += object->bytes;
  opened.bytes = code_.map(*object);
  opened.lines = symbolize::CubinLines::open(opened.bytes.bytes());
  if (opened.lines && !opened.lines->facts().architecture.empty()) {
    opened.facts.name = opened.lines->facts().architecture + ".cubin";
  }
  return &opened;
}

const CodeFacts* GpuLines::facts(backend::SourceId source, uint64_t module) {
  const Opened* const opened = open(source, module);
  return opened == nullptr ? nullptr : &opened->facts;
}

std::vector<symbolize::SourceFrame> GpuLines::frames(backend::SourceId source, uint64_t module,
                                                     std::string_view function, uint64_t offset) {
  Opened* const opened = open(source, module);
  return opened == nullptr || !opened->lines ? std::vector<symbolize::SourceFrame>()
                                             : opened->lines->frames(function, offset);
}

std::vector<symbolize::GpuInstruction> GpuLines::instructions(backend::SourceId source, uint64_t module,
                                                              std::string_view name,
                                                              const symbolize::Disassembler& disassembler,
                                                              const symbolize::Disassembler::Limits& limits) {
  constexpr gid_t kNobody = 65534;
  Opened* const opened = open(source, module);
  if (opened == nullptr || !opened->lines) {
    return {};
  }
  const auto functions = opened->lines->functions();
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const auto& f) { return f.name == name; });
  return found == functions.end() ? std::vector<symbolize::GpuInstruction>()
                                  : disassembler.run(opened->bytes.bytes(), *found, {opened->user, kNobody}, limits);
}

// Each kernel has a section of code, with the functions that only it calls.
std::string GpuLines::kernel_of(backend::SourceId source, uint64_t module, std::string_view name) {
  Opened* const opened = open(source, module);
  if (opened == nullptr || !opened->lines) {
    return {};
  }
  const auto [known, fresh] = opened->kernels.try_emplace(std::string(name));
  if (!fresh) {
    return known->second;
  }
  const auto functions = opened->lines->functions();
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const auto& f) { return f.name == name; });
  if (found == functions.end()) {
    return {};
  }
  without_lines_ += opened->lines->has_lines(name) ? 0 : 1;
  if (!found->kernel) {
    for (const symbolize::CubinFunction& function : functions) {
      if (function.kernel && function.section == found->section) {
        known->second = std::string(function.name);
      }
    }
  }
  return known->second;
}

}  // namespace gpuprof::record
