// Represents GPU work and blocking calls in the same way, because the join finds the launches of both by the same key.
#pragma once

#include <cstdint>

#include "backend/event_sink.h"
#include "profile/records.h"

namespace gpuprof::record {

// Identifies the launch of an event and the work that the event belongs to.
struct LaunchSite {
  static constexpr uint32_t kNoDevice = UINT32_MAX;
  backend::SourceId source = 0;
  uint64_t correlation = 0;
  uint64_t stream = 0;
  uint64_t graph_node = 0;  // 0: the event is not from a graph launch
  uint32_t device = kNoDevice;
  uint32_t name_id = 0;
  // Thread and range of the caller. They are used if the call is unknown.
  uint32_t tid = 0;
  uint32_t range = 0;
  profile::Op op = profile::Op::kernel;
  bool has_call = false;  // true: `correlation` identifies a call
  bool is_host = false;   // a blocking call, not GPU work
  // True for a sample. If its kernel's name is missing, the loss is counted with the GPU work, not with the sample.
  bool is_sample = false;
};

struct WorkEvent {
  LaunchSite site;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t queued_ns = 0;
  uint64_t submitted_ns = 0;
  uint64_t bytes = 0;
  uint64_t count = 1;
  uint64_t weight = 1;    // the event counts this many times (see DutyCycle); 0: its launch is in no window
  uint64_t slice_ns = 0;  // the event counts in the slice of this time; 0: in that of end_ns
  // If not 0, the event took place at unknown times between `within_ns` and `end_ns`, for end_ns - start_ns in total.
  uint64_t within_ns = 0;
  bool more = false;
  bool outside = false;  // true: the launch is outside of --nvtx-range
  // If not 0, the event describes only one kernel of a batch of kernels. This is the id of the kernel's name.
  uint32_t kernel_id = 0;

  [[nodiscard]] uint64_t duration() const { return end_ns - start_ns; }
};

WorkEvent work_event(const backend::GpuOp& op);
WorkEvent work_event(const backend::HostOp& op);
LaunchSite launch_site(const backend::Sample& sample);

}  // namespace gpuprof::record
