// Delivers CPU stacks. An engine reports each launch's correlation id and stack id, and before that any new stack.
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

// A launch, or another call with a stack. GPUPROF_CORRELATION_* bits in `correlation` mark the other calls.
struct LaunchStack {
  uint32_t source = 0;  // source id, see EventSink
  uint64_t correlation = 0;
  uint64_t stack = 0;  // stack id; 0: not readable
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

  // Words as in wire/stack.h; `flags` are GPUPROF_STACK_*. `read_ns`: when the mappings that the walk used were read
  // (see ProcessMaps); 0: the walk used none.
  virtual void on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> words, uint32_t flags,
                        uint64_t read_ns) = 0;
  // Called before the first stack of the process that refers to this code.
  virtual void on_process_code(uint32_t pid, const backend::PythonCode& code) = 0;
  virtual void on_thread(uint32_t pid, uint32_t tid, std::string_view name) = 0;
  // The process has loaded or unloaded libraries, so its mappings must be read again.
  virtual void on_loader(uint32_t pid) = 0;
  virtual void on_launch_stack(const LaunchStack& launch) = 0;
  // A launch in a process without injection library, counted per stack. `function` is the value passed to
  // attach_function(). Source and correlation are 0.
  virtual void on_counted_launch(uint32_t function, const LaunchStack& launch) = 0;
};

struct StackLosses {
  uint64_t launches = 0;  // launch events lost because the buffer was full
  uint64_t stacks = 0;    // stacks dropped because the buffer was full (sent again later)
  uint64_t unreadable = 0;
};

class StackEngine : public ProcessListener {
 public:
  [[nodiscard]] virtual std::string_view name() const = 0;  // written as META stack_engine

  // Describes features that this kernel lacks; empty if it lacks none.
  [[nodiscard]] virtual std::string_view note() const { return {}; }

  // Walks stacks at the launch probe of an injection library, in every process that maps the file.
  virtual Status attach_library(const std::string& path) = 0;

  // Walks stacks at the function at `file_offset` of `path` in process `pid`. on_counted_launch() then gets `function`.
  virtual Status attach_function(const std::string& path, uint64_t file_offset, uint32_t pid, uint32_t function) = 0;

  // Delivers all events that have arrived. Never blocks.
  virtual void drain(StackSink& sink) = 0;
  [[nodiscard]] virtual StackLosses losses() const = 0;  // since the start of the recording

  // The sink has dropped these stacks of ended processes. The engine must deliver them again before their next use.
  virtual void forget(std::span<const uint64_t> stacks) = 0;
};

enum class BpfWalk : uint8_t {
  tables,          // walks by .eh_frame tables, and also finds Python frames
  frame_pointers,  // walks only code that was compiled with frame pointers
};

// Makes an engine that walks user stacks in uprobes. The error says which right or kernel feature is missing.
Result<std::unique_ptr<StackEngine>> make_bpf_engine(BpfWalk walk);

}  // namespace gpuprof::record
