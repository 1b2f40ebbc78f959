#include "record/session/code/gpu_lines.h"

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

// Returns whether the code may still arrive. Targets send code separately from the rings, sometimes after its first
// execution.
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
  const bool is_cubin = object->kind == GPUPROF_CODE_CUBIN;
  opened.facts = {.name = is_cubin ? "cubin" : "zebin", .hash = hex(object->hash)};
  uint64_t& used = is_cubin ? mapped_ : zebins_;
  if (object->bytes <= (is_cubin ? kMaxMapped : kMaxZebins) - used) {
    used += object->bytes;
    opened.bytes = code_.map(*object);
    is_cubin ? open_cubin(opened) : open_zebin(opened);
  }
  return &opened;
}

void GpuLines::open_cubin(Opened& opened) {
  opened.lines = symbolize::CubinLines::open(opened.bytes.bytes());
  if (opened.lines && !opened.lines->facts().architecture.empty()) {
    opened.facts.name = opened.lines->facts().architecture + ".cubin";
  }
}

void GpuLines::open_zebin(Opened& opened) {
  opened.zebin = symbolize::Zebin::parse(opened.bytes.bytes(), budget_);
  if (opened.zebin != nullptr && opened.zebin->platform() != symbolize::GpuPlatform::unknown) {
    opened.facts.name = std::string(symbolize::platform_name(opened.zebin->platform())) + ".zebin";
  }
}

uint64_t GpuLines::code_bytes(backend::SourceId source, uint64_t module, std::string_view function) {
  const Opened* const opened = open(source, module);
  if (opened == nullptr || opened->zebin == nullptr) {
    return 0;
  }
  const symbolize::Zebin::Kernel* const kernel = opened->zebin->find(function);
  return kernel == nullptr ? 0 : kernel->bytes;
}

const CodeFacts* GpuLines::facts(backend::SourceId source, uint64_t module) {
  const Opened* const opened = open(source, module);
  return opened == nullptr ? nullptr : &opened->facts;
}

std::vector<symbolize::SourceFrame> GpuLines::frames(backend::SourceId source, uint64_t module,
                                                     std::string_view function, uint64_t offset) {
  Opened* const opened = open(source, module);
  if (opened != nullptr && opened->zebin != nullptr) {
    const bool lacks = opened->zebin->find(function) != nullptr && !opened->zebin->has_lines();
    without_lines_.in_zebins += lacks && opened->without_lines.emplace(function).second ? 1 : 0;
    return opened->zebin->lines(function, offset);
  }
  return opened == nullptr || !opened->lines ? std::vector<symbolize::SourceFrame>()
                                             : opened->lines->frames(function, offset);
}

bool GpuLines::is_cubin(backend::SourceId source, uint64_t module) {
  const Opened* const opened = open(source, module);
  return opened != nullptr && opened->lines.has_value();
}

std::vector<symbolize::GpuInstruction> GpuLines::instructions(
    backend::SourceId source, uint64_t module, std::string_view name,
    const std::optional<symbolize::Disassembler>& disassembler, const symbolize::ReaderLimits& limits) {
  constexpr gid_t kNobody = 65534;
  Opened* const opened = open(source, module);
  if (opened == nullptr) {
    return {};
  }
  const symbolize::CodeOwner owner{opened->user, kNobody};
  const auto bytes = opened->bytes.bytes();
  if (opened->zebin != nullptr) {
    const symbolize::Zebin::Kernel* const kernel = opened->zebin->find(name);
    const bool inside = kernel != nullptr && kernel->offset <= bytes.size();
    return inside ? symbolize::xe_instructions(
                        bytes.subspan(kernel->offset)
                            .first(std::min<uint64_t>(kernel->bytes, bytes.size() - kernel->offset)),
                        opened->zebin->platform(), owner, limits)
                  : std::vector<symbolize::GpuInstruction>();
  }
  if (!opened->lines || !disassembler) {
    return {};
  }
  const auto functions = opened->lines->functions();
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const auto& f) { return f.name == name; });
  return found == functions.end() ? std::vector<symbolize::GpuInstruction>()
                                  : disassembler->run(bytes, *found, owner, limits);
}

// In a cubin, a kernel shares its code section with the functions that only this kernel calls.
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
  without_lines_.in_cubins += opened->lines->has_lines(name) ? 0 : 1;
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
