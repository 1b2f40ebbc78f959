// Where CPU stacks come from. For each launch, a stack engine delivers its correlation id and the id of its stack;
// before a stack id is used for the first time, the stack itself.
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

// A launch, or another call whose stack is wanted (a bit in `correlation` tells: GPUPROF_CORRELATION_*).
struct LaunchStack {
  uint32_t source = 0;  // as in EventSink
  uint64_t correlation = 0;
  uint64_t stack = 0;  // 0: not readable
  uint64_t time_ns = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t range = 0;  // wire id of a RANGE of the source; 0: none
};

class StackSink {
 public:
  StackSink() = default;
  StackSink(const StackSink&) = delete;
  StackSink& operator=(const StackSink&) = delete;
  virtual ~StackSink() = default;

  // Words as in wire/stack.h; `flags` are GPUPROF_STACK_*. `read_ns`: when the mappings were read by which the stack
  // was walked (see ProcessMaps); 0: it was walked without any.
  virtual void on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> words, uint32_t flags,
                        uint64_t read_ns) = 0;
  // Before the first stack of the process that names it.
  virtual void on_process_code(uint32_t pid, const backend::PythonCode& code) = 0;
  virtual void on_thread(uint32_t pid, uint32_t tid, std::string_view name) = 0;
  // It has loaded or unloaded libraries: its mappings are to be read again.
  virtual void on_loader(uint32_t pid) = 0;
  virtual void on_launch_stack(const LaunchStack& launch) = 0;
  // A launch of a process without our library: counted per stack. `function` indexes attach_function()'s calls; source
  // and correlation are 0.
  virtual void on_counted_launch(uint32_t function, const LaunchStack& launch) = 0;
};

struct StackLosses {
  uint64_t launches = 0;  // launch events that found the buffer full
  uint64_t stacks = 0;    // stacks that found the buffer full (sent again later)
  uint64_t unreadable = 0;
};

class StackEngine : public ProcessListener {
 public:
  [[nodiscard]] virtual std::string_view name() const = 0;  // for META stack_engine

  // What the user has to do without on this kernel; empty: nothing.
  [[nodiscard]] virtual std::string_view note() const { return {}; }

  // Stacks at the launch probe of an injection library, in every process that loads the file.
  virtual Status attach_library(const std::string& path) = 0;

  // Stacks at a function at `file_offset` of `path`, in process `pid`; launches are reported with `function`.
  virtual Status attach_function(const std::string& path, uint64_t file_offset, uint32_t pid, uint32_t function) = 0;

  // Delivers all that has arrived. Never blocks.
  virtual void drain(StackSink& sink) = 0;
  [[nodiscard]] virtual StackLosses losses() const = 0;  // so far

  // The sink has forgotten these stacks (their process has ended): they are to be delivered again before their next
  // use.
  virtual void forget(std::span<const uint64_t> stacks) = 0;
};

enum class BpfWalk : uint8_t {
  tables,          // .eh_frame, and Python frames
  frame_pointers,  // what code compiled with them allows
};

// User stacks, walked in a uprobe. The error says which right or kernel feature is missing.
Result<std::unique_ptr<StackEngine>> make_bpf_engine(BpfWalk walk);

}  // namespace gpuprof::record
