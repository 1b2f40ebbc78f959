#include "record/session/plan.h"

namespace gpuprof::record {
namespace {

constexpr uint64_t kMaxCodeBytes = uint64_t{1} << 30;

}  // namespace

ChannelOptions plan_channel(const SessionOptions& options, const StackSetup& stacks,
                            const backend::Backends& backends) {
  ChannelOptions channel{
      .launch_records = stacks.engine == nullptr,
      .stacks = stacks.in_process,
      .hold = stacks.by_tables() || options.exact_off_cpu,
      .enabled = !options.recording.paused && options.recording.delay_ns == 0,
      .calls = options.timeline,
      .latency = options.latency,
      .cpu_period_ns = options.cpu_period_ns(),
      .whole_graphs = options.whole_graphs,
      .attached = options.attach_pid != 0,
      .max_overhead = options.max_overhead,
      .duty_cycle = options.has_duty_cycle(),
      .sampling = options.sampling,
      .nvtx_range = options.nvtx_range,
      .code = {.session_bytes = options.sampling.samples || options.sampling.counts() ? kMaxCodeBytes : 0}};
  for (const auto& backend : backends) {
    if (backend->is_code_only()) {
      channel.code_only.emplace_back(backend->descriptor().name);
    }
  }
  return channel;
}

JoinOptions plan_join(const SessionOptions& options, const StackSetup& stacks, const backend::Backends& backends) {
  return {.grid = options.grid(),
          .attach_pid = options.attach_pid,
          .stacks_wanted = stacks.any(),
          .stacks_from_sources = stacks.in_process,
          .frame_pointers = stacks.by_frame_pointers(),
          .profiler_libraries = ProfilerLibraries::of(backends),
          .timeline = options.timeline,
          .latency = options.latency,
          .cpu_period_ns = options.cpu_period_ns(),
          .duty_cycle = options.has_duty_cycle(),
          .sampling = options.sampling};
}

}  // namespace gpuprof::record
