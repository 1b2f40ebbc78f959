// GPU work and blocking calls as the join sees them: both are found by the same key and take the same way to a row.
#pragma once

#include <cstdint>

#include "backend/event_sink.h"
#include "profile/records.h"

namespace gpuprof::record {

// What an event says of where it belongs: by this its launch is found, and what it is charged to.
struct LaunchSite {
  static constexpr uint32_t kNoDevice = UINT32_MAX;
  backend::SourceId source = 0;
  uint64_t correlation = 0;
  uint64_t stream = 0;
  uint64_t graph_node = 0;  // 0: not of a graph launch
  uint32_t device = kNoDevice;
  uint32_t name_id = 0;
  uint32_t tid = 0;    // of the caller where the event says it: used where the call is not known, ...
  uint32_t range = 0;  // ... as is its range
  profile::Op op = profile::Op::kernel;
  bool has_call = false;   // `correlation` is that of a call
  bool unsampled = false;  // that call has no stack by choice, and is not told of: `tid` and `range` are its own
  bool is_host = false;    // a blocking call of its own, not GPU work
  bool is_sample = false;  // taken in GPU work: what that lacks is counted with the work, and not again here
};

struct WorkEvent {
  LaunchSite site;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t queued_ns = 0;
  uint64_t submitted_ns = 0;
  uint64_t bytes = 0;
  uint64_t count = 1;
  bool more = false;       // other work of the same launch may follow
  bool outside = false;    // its launch is not to be recorded
  uint32_t kernel_id = 0;  // not 0: no work of its own, but one of the kernels that the work is made of

  [[nodiscard]] uint64_t duration() const { return end_ns - start_ns; }
};

WorkEvent work_event(const backend::GpuOp& op);
WorkEvent work_event(const backend::HostOp& op);
LaunchSite launch_site(const backend::Sample& sample);

}  // namespace gpuprof::record
