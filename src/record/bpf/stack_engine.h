// Delivers CPU stacks. For each launch, an engine reports the correlation id and the stack id. It reports a new stack
// before the first launch with that stack.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/event_sink.h"
#include "base/result.h"
#include "record/bpf/process_listener.h"
#include "wire/stack.h"

namespace gpuprof::record {

// A launch, or another call with a stack. For calls that are not launches, `correlation` has GPUPROF_CORRELATION_*
// bits.
struct LaunchStack {
  uint32_t source = 0;
  uint64_t correlation = 0;
  uint64_t stack = 0;  // 0: the stack could not be read
  uint64_t time_ns = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t range = 0;  // the source's id of a RANGE record; 0: no range
};

class StackSink {
 public:
  StackSink() = default;
  StackSink(const StackSink&) = delete;
  StackSink& operator=(const StackSink&) = delete;
  virtual ~StackSink() = default;

  // `words` have the format of wire/stack.h, and `flags` are GPUPROF_STACK_*. `read_ns` is the time at which the
  // mappings that the walk used were read (see ProcessMaps); 0: the walk used no mappings.
  virtual void on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> words, uint32_t flags,
                        uint64_t read_ns) = 0;
  // The engine calls this before the first stack of the process that contains the code object.
  virtual void on_process_code(uint32_t pid, const backend::PythonCode& code) = 0;
  virtual void on_thread(uint32_t pid, uint32_t tid, std::string_view name) = 0;
  // The engine calls this when the process has loaded or unloaded libraries, so that its mappings must be read again.
  virtual void on_loader(uint32_t pid) = 0;
  virtual void on_launch_stack(const LaunchStack& launch) = 0;
  // Counts a launch in a process without an injection library, with its stack. `function` is the value that was passed
  // to attach_function(). In `launch`, source and correlation are 0.
  virtual void on_counted_launch(uint32_t function, const LaunchStack& launch) = 0;
};

struct StackLosses {
  uint64_t launches = 0;  // launch events that were lost because the buffer was full
  // Stacks that were dropped because the buffer was full. The engine sends them again later.
  uint64_t stacks = 0;
  uint64_t unreadable = 0;
};

class StackEngine : public ProcessListener {
 public:
  [[nodiscard]] virtual std::string_view name() const = 0;

  // Describes features that this kernel lacks; empty: it lacks none.
  [[nodiscard]] virtual std::string_view note() const { return {}; }

  // Walks a stack at each call of the launch probe of an injection library, in every process that maps the file.
  virtual Status attach_library(const std::string& path) = 0;

  // Walks a stack at each call of the function at `file_offset` of `path` in process `pid`. Then passes `function` to
  // on_counted_launch(). `pid` 0: in all processes of count_child().
  virtual Status attach_function(const std::string& path, uint64_t file_offset, uint32_t pid, uint32_t function) = 0;
  // Counts the launches of a process from now on, or no longer. Returns false if too many are counted.
  virtual bool count_child(uint32_t pid, bool wanted) = 0;

  virtual void drain(StackSink& sink) = 0;
  [[nodiscard]] virtual StackLosses losses() const = 0;

  // Call it when the sink has dropped these stacks of ended processes. The engine then delivers them again before their
  // next use.
  virtual void forget(std::span<const uint64_t> stacks) = 0;
};

enum class BpfWalk : uint8_t {
  tables,          // walks by .eh_frame tables, and also finds Python frames
  frame_pointers,  // walks only through code that was compiled with frame pointers
};

// Makes an engine that walks user stacks in uprobes. The error names the missing right or kernel feature.
Result<std::unique_ptr<StackEngine>> make_bpf_engine(BpfWalk walk);

}  // namespace gpuprof::record
