// Describes where a work item comes from: the stacks of its launch and, for a CUDA graph node, of its capture.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "profile/records.h"

namespace gpuprof::analyze {

// Notes among the frames of a path. The order of the values breaks ties between call paths of equal weight.
enum class PathNote : uint8_t {
  none,
  separator,    // between user and kernel frames
  captured_at,  // between the launch of a graph and the capture of its node
  all_hidden,   // the stack has frames, but the options hide all of them
  no_cpu_stack,
  not_sampled,      // no stack because of --max-overhead
  unknown_capture,  // the node is in a child graph, or the capture's stack was lost
  early_capture,    // gpuprof attached to a running process, so the graph may be older than the recording
};

struct LaunchSite {
  profile::StackId ustack{};
  profile::StackId kstack{};
  profile::StackId capture{};
  PathNote no_launch = PathNote::none;   // shown if ustack and kstack have no visible frame
  PathNote no_capture = PathNote::none;  // shown if a graph node has no capture

  [[nodiscard]] bool has_stack() const { return index(ustack) != 0 || index(kstack) != 0; }
  [[nodiscard]] bool is_graph_node() const { return index(capture) != 0 || no_capture != PathNote::none; }
  bool operator==(const LaunchSite&) const = default;
};

// Returns the stacks of the work. Does not set the notes that explain a missing stack. The capture of a time off a CPU
// is the stack of the waking thread, which has not launched anything.
inline LaunchSite stacks_of(const profile::Work& work) {
  const bool is_captured = !profile::is_thread_time(work.op);
  return {.ustack = work.ustack, .kstack = work.kstack, .capture = is_captured ? work.capture : profile::StackId{}};
}

inline LaunchSite site_of(const profile::Work& work) {
  LaunchSite site = stacks_of(work);
  site.no_launch = profile::is_unsampled(work) ? PathNote::not_sampled : PathNote::no_cpu_stack;
  if (index(work.capture) == 0 && (work.flags & profile::kWorkGraphNode) != 0) {
    site.no_capture = (work.flags & profile::kWorkAttached) != 0 ? PathNote::early_capture : PathNote::unknown_capture;
  }
  return site;
}

struct LaunchSiteHash {
  uint64_t seed = random_seed();
  size_t operator()(const LaunchSite& site) const {
    const uint64_t launch = fold_multiply(join_ids(index(site.ustack), index(site.kstack)) ^ seed, kHashMultiplier);
    const uint64_t notes =
        (uint64_t{static_cast<uint8_t>(site.no_launch)} << 8U) | static_cast<uint8_t>(site.no_capture);
    return fold_multiply(launch ^ join_ids(index(site.capture), static_cast<uint32_t>(notes)), kHashMultiplier);
  }
};

}  // namespace gpuprof::analyze
