#include "record/session/code/gpu_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "reader/fields.h"
#include "reader/requests.h"
#include "wire/code.h"

namespace gpuprof::record {
namespace {

// The process may make the main thread wait this long for one answer, ...
constexpr uint64_t kOneWaitNs = 1'000'000'000;
// ... and for all answers, a while and this part of the recording.
constexpr uint64_t kFreeWaitNs = 3'000'000'000;
constexpr uint64_t kWaitShare = 5;
constexpr uint64_t kMaxKernel = uint64_t{16} << 20;  // bytes of a kernel to disassemble

std::string hex(const CodeHash& hash) {
  return fmt::format("{:016x}{:016x}", hash[0], hash[1]);
}

}  // namespace

// Returns whether the code may still arrive. Targets send code separately from the rings, sometimes after its first
// execution.
bool GpuLines::may_come(backend::SourceId source, uint64_t module) const {
  return code_.find(source, module) == nullptr;
}

GpuLines::GpuLines(CodeObjects& code, std::shared_ptr<MemoryBudget> memory)
    : code_(code),
      memory_(std::move(memory)),
      reader_({.memory = [budget = memory_](int64_t change) { budget->add_elsewhere(change); }}),
      begun_ns_(monotonic_ns()) {}

void GpuLines::note_failure(Opened& opened) {
  opened.state = Opened::State::unusable;
  const std::string text = "the process that reads GPU code has failed at " + opened.facts.name + " " +
                           opened.facts.hash + ": its samples have no source lines";
  std::exchange(warned_, true) ? log::debug(text) : log::warn(text);
}

// The calling thread also empties the rings. So it may wait for the reader only for a part of the time.
std::optional<reader::Message> GpuLines::ask_in_time(Opened& opened, const reader::Process::Request& request) {
  const uint64_t begun = monotonic_ns();
  if (waited_ns_ > kFreeWaitNs + (begun - begun_ns_) / kWaitShare) {
    return std::nullopt;
  }
  auto [outcome, answer] = reader_.ask(request);
  waited_ns_ += monotonic_ns() - begun;
  if (outcome == reader::Process::Outcome::answered) {
    return std::move(answer);
  }
  if (outcome != reader::Process::Outcome::not_started) {
    note_failure(opened);
  }
  return std::nullopt;
}

// Gives the code to the running process. Returns whether it is valid.
bool GpuLines::send(Opened& opened) {
  const int file = reader_.run() ? code_.file(*opened.object) : -1;
  if (file < 0) {
    return false;
  }
  reader::Process::Request request{.message = {}, .fd = file, .time_ns = kOneWaitNs};
  request.message.number(static_cast<uint64_t>(reader::Ask::code)).number(memory_->room()).number(opened.id);
  request.message.number(opened.is_cubin ? 1 : 0);
  request.generation = reader_.generation();
  std::optional<reader::Message> answer = ask_in_time(opened, request);
  if (!answer) {
    return false;
  }
  opened.generation = request.generation;
  opened.state = answer->number() != 0 ? Opened::State::valid : Opened::State::unusable;
  const std::string architecture(answer->text());
  opened.platform = symbolize::platform_of(answer->number());
  if (opened.is_cubin && !architecture.empty()) {
    opened.facts.name = architecture + ".cubin";
  } else if (opened.platform != symbolize::GpuPlatform::unknown) {
    opened.facts.name = std::string(symbolize::platform_name(opened.platform)) + ".zebin";
  }
  return opened.state == Opened::State::valid;
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
  opened.id = opened_.size();
  opened.object = object;
  opened.is_cubin = object->kind == GPUPROF_CODE_CUBIN;
  opened.facts = {.name = opened.is_cubin ? "cubin" : "zebin", .hash = hex(object->hash)};
  uint64_t& used = opened.is_cubin ? cubins_ : zebins_;
  if (object->bytes <= (opened.is_cubin ? kMaxCubins : kMaxZebins) - used) {
    used += object->bytes;
    send(opened);
  } else {
    opened.state = Opened::State::unusable;
  }
  return &opened;
}

// nullopt: there is no answer.
std::optional<reader::Message> GpuLines::ask(Opened& opened, const reader::Message& request) {
  if (opened.state == Opened::State::unusable || !reader_.run()) {
    return std::nullopt;
  }
  const bool is_there = opened.state == Opened::State::valid && opened.generation == reader_.generation();
  if (!is_there && !send(opened)) {
    return std::nullopt;
  }
  return ask_in_time(opened, {.message = request, .time_ns = kOneWaitNs, .generation = opened.generation});
}

// Returns null if the function is unknown, or not known yet.
GpuLines::Function* GpuLines::function(Opened& opened, std::string_view name) {
  auto known = opened.functions.find(std::string(name));
  if (known == opened.functions.end()) {
    reader::Message request;
    request.number(static_cast<uint64_t>(reader::Ask::code_function)).number(opened.id).text(name);
    std::optional<reader::Message> answer = ask(opened, request);
    if (!answer) {
      return nullptr;
    }
    known = opened.functions.emplace(name, Function{reader::take_function(*answer)}).first;
  }
  return known->second.facts.known ? &known->second : nullptr;
}

uint64_t GpuLines::code_bytes(backend::SourceId source, uint64_t module, std::string_view name) {
  Opened* const opened = open(source, module);
  const Function* const found = opened == nullptr || opened->is_cubin ? nullptr : function(*opened, name);
  return found == nullptr ? 0 : found->facts.bytes;
}

const CodeFacts* GpuLines::facts(backend::SourceId source, uint64_t module) {
  const Opened* const opened = open(source, module);
  return opened == nullptr ? nullptr : &opened->facts;
}

std::vector<symbolize::SourceFrame> GpuLines::frames(backend::SourceId source, uint64_t module, std::string_view name,
                                                     uint64_t offset) {
  Opened* const opened = open(source, module);
  Function* const found = opened == nullptr ? nullptr : function(*opened, name);
  if (found == nullptr) {
    return {};
  }
  if (!found->facts.has_lines && !std::exchange(found->is_counted, true)) {
    ++(opened->is_cubin ? without_lines_.in_cubins : without_lines_.in_zebins);
  }
  reader::Message request;
  request.number(static_cast<uint64_t>(reader::Ask::code_lines)).number(memory_->room()).number(opened->id);
  request.text(name).number(offset);
  std::optional<reader::Message> answer = ask(*opened, request);
  return answer ? reader::take_lines(*answer) : std::vector<symbolize::SourceFrame>();
}

bool GpuLines::is_cubin(backend::SourceId source, uint64_t module) {
  const Opened* const opened = open(source, module);
  return opened != nullptr && opened->is_cubin && opened->state == Opened::State::valid;
}

std::vector<symbolize::GpuInstruction> GpuLines::instructions(
    backend::SourceId source, uint64_t module, std::string_view name,
    const std::optional<symbolize::Disassembler>& disassembler, const symbolize::ReaderLimits& limits) {
  Opened* const opened = open(source, module);
  const Function* const found = opened == nullptr ? nullptr : function(*opened, name);
  if (found == nullptr || (opened->is_cubin && !disassembler)) {
    return {};
  }
  const reader::CodeFunction& at = found->facts;
  const int file = code_.file(*opened->object);
  if (opened->is_cubin) {
    return disassembler->run(file, {.name = name, .begin = at.begin, .size = at.bytes, .symbol = at.symbol}, limits);
  }
  std::vector<std::byte> kernel(std::min<uint64_t>(at.bytes, kMaxKernel));
  const ssize_t got = ::pread(file, kernel.data(), kernel.size(), static_cast<off_t>(at.offset));
  return symbolize::xe_instructions(std::span(kernel).first(static_cast<size_t>(std::max<ssize_t>(got, 0))),
                                    opened->platform, limits);
}

// In a cubin, a kernel shares its code section with the functions that only this kernel calls.
std::string GpuLines::kernel_of(backend::SourceId source, uint64_t module, std::string_view name) {
  Opened* const opened = open(source, module);
  const Function* const found = opened == nullptr || !opened->is_cubin ? nullptr : function(*opened, name);
  return found == nullptr || found->facts.kernel == name ? std::string() : found->facts.kernel;
}

}  // namespace gpuprof::record
