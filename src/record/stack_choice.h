// Where the CPU stacks of a recording come from.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "record/bpf/stack_engine.h"
#include "record/session.h"

namespace gpuprof::record {

struct StackSetup {
  std::unique_ptr<StackEngine> engine;  // null: there is none, or the processes walk their stacks themselves
  bool in_process = false;              // they do
  std::string reason;                   // one line, for META

  [[nodiscard]] std::string_view name() const {
    return in_process ? "inproc" : engine == nullptr ? "none" : engine->name();
  }
  [[nodiscard]] bool any() const { return in_process || engine != nullptr; }
  // The engine takes time to make itself ready for a process, which should wait for that.
  [[nodiscard]] bool by_tables() const { return engine != nullptr && engine->name() == kBpfByTables; }
  [[nodiscard]] bool by_frame_pointers() const { return engine != nullptr && !by_tables(); }

  static constexpr std::string_view kBpfByTables = "bpf";
};

// For processes that our library goes into. An error where what was asked for is impossible.
Result<StackSetup> choose_stacks(StackChoice choice);

// For a process that it could not be brought into (`why`): only a stack engine outside of it can count its launches.
Result<StackSetup> choose_counting(StackChoice choice, const Error& why);

}  // namespace gpuprof::record
