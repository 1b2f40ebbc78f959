// Chooses where the CPU stacks of a recording come from.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "record/bpf/stack_engine.h"
#include "record/session.h"

namespace gpuprof::record {

struct StackSetup {
  // Null if no stacks are recorded, or if targets walk their own stacks.
  std::unique_ptr<StackEngine> engine;
  bool in_process = false;
  // One line for META that says why this method was chosen.
  std::string reason;

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

// Chooses a stack engine that counts the launches of a process whose injection failed. `why`: the error of the
// injection.
Result<StackSetup> choose_counting(StackChoice choice, const Error& why);

}  // namespace gpuprof::record
