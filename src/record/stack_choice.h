// Chooses where the CPU stacks of a recording come from.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "record/bpf/stack_engine.h"
#include "record/session.h"

namespace gpuprof::record {

struct StackSetup {
  std::unique_ptr<StackEngine> engine;  // null: no stacks, or targets walk their own stacks
  bool in_process = false;              // targets walk their stacks
  std::string reason;                   // one line, for META

  [[nodiscard]] std::string_view name() const {
    return in_process ? "inproc" : engine == nullptr ? "none" : engine->name();
  }
  [[nodiscard]] bool any() const { return in_process || engine != nullptr; }
  // Returns whether the engine must prepare unwind tables for each process. The process should wait for these tables.
  [[nodiscard]] bool by_tables() const { return engine != nullptr && engine->name() == kBpfByTables; }
  [[nodiscard]] bool by_frame_pointers() const { return engine != nullptr && !by_tables(); }

  static constexpr std::string_view kBpfByTables = "bpf";
};

// Chooses how to walk stacks of processes with an injection library. Returns an error if `choice` is impossible.
Result<StackSetup> choose_stacks(StackChoice choice);

// Chooses a stack engine to count the launches of a process into which injection failed because of `why`.
Result<StackSetup> choose_counting(StackChoice choice, const Error& why);

}  // namespace gpuprof::record
