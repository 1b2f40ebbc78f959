// Reports when threads that launch GPU work do not run, by BPF programs on the kernel's scheduler: bpf/off_cpu.bpf.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/bpf_codes.h"
#include "backend/event_sink.h"
#include "base/result.h"
#include "libbpf/objects.h"
#include "record/bpf/bpf_processes.h"
#include "record/bpf/process_feed.h"
#include "wire/bpf_events.h"

namespace gpuprof::record {

class OffCpuSink {
 public:
  OffCpuSink() = default;
  OffCpuSink(const OffCpuSink&) = delete;
  OffCpuSink& operator=(const OffCpuSink&) = delete;
  virtual ~OffCpuSink() = default;

  // See StackSink. `kernel`: kernel addresses of the stack, innermost first.
  virtual void on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words,
                        std::span<const uint64_t> kernel) = 0;
  virtual void on_process_code(uint32_t pid, const backend::PythonCode& code) = 0;
  virtual void on_loader(uint32_t pid) = 0;
  virtual void on_off_cpu(const gpuprof_bpf_off_cpu& off) = 0;
};

class OffCpuEngine {
 public:
  // The error names the missing right or kernel feature.
  static Result<std::unique_ptr<OffCpuEngine>> start();

  [[nodiscard]] ProcessFeed& feed() { return feed_; }
  // Passes process events to the feed, except for Python's layouts, which the engine finds itself.
  void put(std::vector<ProcessEvent> events);
  std::vector<uint32_t> take_outdated() { return processes_.take_outdated(); }

  // Reports only these threads from now on. They must be sorted.
  void set_threads(std::vector<gpuprof_bpf_feeder> threads);

  // Returns the number of bytes.
  size_t drain(OffCpuSink& sink);

  // See StackEngine.
  void forget(std::span<const uint64_t> stacks);

  struct Counts {
    uint64_t lost = 0;         // times off a CPU that were not reported, because the buffer was full
    uint64_t lost_stacks = 0;  // times that were reported without a stack
    uint64_t brief = 0;        // times that were too short to be reported
    uint64_t brief_ns = 0;     // their sum
  };
  [[nodiscard]] Counts counts() const;

 private:
  explicit OffCpuEngine(BpfObject object);
  Status init();
  static int on_event(void* context, void* data, size_t bytes);
  void dispatch(std::span<const std::byte> event);

  BpfObject object_;
  BpfProcesses processes_;
  backend::BpfCodes codes_;
  BpfRing ring_;
  std::vector<BpfLink> links_;
  int losses_ = -1;
  int feeders_ = -1;
  int known_stacks_ = -1;
  std::vector<gpuprof_bpf_feeder> threads_;
  size_t drained_bytes_ = 0;
  OffCpuSink* sink_ = nullptr;
  ProcessFeed feed_;  // last member, because its thread uses processes_
};

}  // namespace gpuprof::record
