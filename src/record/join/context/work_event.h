// Represents GPU work and blocking calls in the same way, because the join finds their launches by the same key.
#pragma once

#include <cstdint>

#include "backend/event_sink.h"
#include "profile/records.h"

namespace gpuprof::record {

// How an event identifies its launch and the work that it belongs to.
struct LaunchSite {
  static constexpr uint32_t kNoDevice = UINT32_MAX;
  backend::SourceId source = 0;
  uint64_t correlation = 0;
  uint64_t stream = 0;
  uint64_t graph_node = 0;  // 0: not from a graph launch
  uint32_t device = kNoDevice;
  uint32_t name_id = 0;
  uint32_t tid = 0;    // thread of the caller; used if the call is unknown or unsampled
  uint32_t range = 0;  // range of the caller; used if the call is unknown or unsampled
  profile::Op op = profile::Op::kernel;
  bool has_call = false;   // `correlation` identifies a call
  bool unsampled = false;  // --max-overhead skipped the call's stack and record; `tid` and `range` come from the call
  bool is_host = false;    // a blocking call, not GPU work
  bool is_sample = false;  // a sample: a missing kernel name is counted as a loss only with the GPU work
};

struct WorkEvent {
  LaunchSite site;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t queued_ns = 0;
  uint64_t submitted_ns = 0;
  uint64_t bytes = 0;
  uint64_t count = 1;
  bool more = false;       // more work of the same launch may follow
  bool outside = false;    // the launch is outside of --nvtx-range
  uint32_t kernel_id = 0;  // not 0: name id of one kernel of a batch; the event then describes only this kernel

  [[nodiscard]] uint64_t duration() const { return end_ns - start_ns; }
};

WorkEvent work_event(const backend::GpuOp& op);
WorkEvent work_event(const backend::HostOp& op);
LaunchSite launch_site(const backend::Sample& sample);

}  // namespace gpuprof::record
