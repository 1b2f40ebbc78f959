#include "record/stack_choice.h"

#include <utility>

#include "base/log.h"
#include "base/return_if_error.h"

namespace gpuprof::record {
namespace {

Result<StackSetup> by_tables() {
  auto tables = make_bpf_engine(BpfWalk::tables);
  if (!tables) {
    return Error{"--stacks=bpf is impossible here: " + tables.error().message, tables.error().hint};
  }
  StackSetup setup;
  setup.engine = std::move(*tables);
  setup.reason = "as asked for";
  const std::string note(setup.engine->note());
  if (!setup.by_tables()) {
    return Error{"--stacks=bpf is impossible here: " + note,
                 "use --stacks=fp to walk by frame pointers, or --stacks=inproc, which needs no BPF"};
  }
  if (!note.empty()) {
    setup.reason += "; " + note;
    log::warn("stacks may be incomplete: " + note);
  }
  return setup;
}

// Walks by unwind tables, else by frame pointers, which older Linux kernels may allow.
Result<StackSetup> by_tables_or_frame_pointers(const char* reason) {
  StackSetup setup;
  setup.reason = reason;
  auto tables = make_bpf_engine(BpfWalk::tables);
  if (tables) {
    setup.engine = std::move(*tables);
    if (const std::string note(setup.engine->note()); !note.empty()) {
      setup.reason += "; " + note;
      log::warn("stacks may be incomplete: " + note);
    }
    return setup;
  }
  auto pointers = make_bpf_engine(BpfWalk::frame_pointers);
  if (!pointers) {
    return std::move(tables).error();
  }
  setup.engine = std::move(*pointers);
  setup.reason += "; by frame pointers: " + tables.error().message;
  log::warn("stacks are walked by frame pointers, and end at code without them: " + tables.error().message,
            tables.error().hint);
  return setup;
}

}  // namespace

Result<StackSetup> choose_stacks(StackChoice choice) {
  StackSetup setup;
  switch (choice) {
    case StackChoice::best:
      setup.in_process = true;
      setup.reason = "auto: walked in the process, which costs the least and needs no rights";
      return setup;
    case StackChoice::inproc:
      setup.in_process = true;
      setup.reason = "as asked for";
      return setup;
    case StackChoice::bpf:
      return by_tables();
    case StackChoice::frame_pointers: {
      auto engine = make_bpf_engine(BpfWalk::frame_pointers);
      RETURN_IF_ERROR(engine);
      setup.engine = std::move(*engine);
      setup.reason = "as asked for";
      return setup;
    }
    case StackChoice::none:
      break;
  }
  setup.reason = "as asked for";
  return setup;
}

Result<StackSetup> choose_counting(StackChoice choice, const Error& why) {
  if (choice == StackChoice::inproc) {
    return Error{"--stacks=inproc is impossible here: " + why.message, why.hint};
  }
  if (choice == StackChoice::none) {
    return Error{why.message, why.hint};
  }
  auto setup = choice == StackChoice::best
                   ? by_tables_or_frame_pointers("launches are counted by uprobes, outside of the process")
                   : choose_stacks(choice);
  if (!setup) {
    const Error& missing = setup.error();
    return Error{
        why.message + "; and its launches cannot be counted: " + missing.message,
        why.hint.empty() || why.hint == missing.hint ? missing.hint : why.hint + "; for counting: " + missing.hint};
  }
  return setup;
}

}  // namespace gpuprof::record
