// What comes from the stack engine, or from targets in its place: threads, launches, captured nodes.

#include <algorithm>

#include "record/join/correlate.h"

namespace gpuprof::record {
namespace {

// Else it is another call whose stack is wanted.
bool is_launch(uint64_t correlation) {
  return (correlation & (GPUPROF_CORRELATION_HOST | GPUPROF_CORRELATION_NODE)) == 0;
}

}  // namespace

// Anybody can map our libraries and call the probe: only processes of this recording are listened to.
bool Correlator::is_recorded(uint32_t pid) const {
  return pid == options_.attach_pid || processes_.knows(pid);
}

void Correlator::on_thread(uint32_t pid, uint32_t tid, std::string_view text) {
  const uint64_t thread = uint64_t{pid} << 32 | tid;
  if (is_recorded(pid) && (threads_.contains(thread) || memory_->admit())) {
    threads_[thread] = names_.intern(text);
  }
}

NameIndex Correlator::thread_name(uint32_t pid, uint32_t tid) const {
  const auto thread = threads_.find(uint64_t{pid} << 32 | tid);
  return thread == threads_.end() ? 0 : thread->second;
}

void Correlator::on_launch_stack(const LaunchStack& launch) {
  Source* source = find_source(launch.source);
  if (source == nullptr || source->pid != launch.pid) {
    return;  // a process that calls the probe with somebody else's source id
  }
  if (!options_.frame_pointers && is_launch(launch.correlation)) {
    const auto stack = stacks_.find(launch.stack);
    if (stack != stacks_.end() && stack->second.process->pid == launch.pid) {
      add_stack_coverage(*source, stack->second.shape, 1);
    }
  }
  take_launch(launch.source, launch.correlation,
              {.stack = launch.stack,
               .time_ns = launch.time_ns,
               .thread = thread_name(launch.pid, launch.tid),
               .tid = launch.tid,
               .range = launch.range});
}

void Correlator::on_launch(backend::SourceId id, const backend::LaunchCall& launch) {
  Source* source = find_source(id);
  if (source == nullptr) {
    return;
  }
  SourceStack* stack = source_stack(*source, launch.stack);
  if (stack != nullptr && is_launch(launch.correlation)) {
    ++stack->launches;
  }
  take_launch(id, launch.correlation,
              {.stack = stack == nullptr ? 0 : stack->id,
               .time_ns = std::min(launch.time_ns, now_ns_ + 1'000'000'000),  // a target's word
               .thread = names_.intern(launch.thread),
               .tid = launch.tid,
               .range = launch.range});
}

void Correlator::take_launch(backend::SourceId source, uint64_t correlation, const Launch& launch) {
  if ((correlation & GPUPROF_CORRELATION_HOST) != 0) {
    have_host_calls_ = true;
    host_calls_.insert(source, correlation, launch);
  } else if ((correlation & GPUPROF_CORRELATION_NODE) != 0) {
    nodes_.captured(source, correlation & ~GPUPROF_CORRELATION_NODE, launch.stack);
  } else {
    have_launches_ = true;
    launches_.insert(source, correlation, launch);
  }
}

void Correlator::on_graph_node(backend::SourceId source, const backend::GraphNode& node) {
  if (find_source(source) == nullptr) {
    return;
  }
  nodes_.add(source, node, now_ns_);
  if (node.launch == 0) {
    return;
  }
  // The launch that was captured runs nothing itself: it must not hold the sweep back.
  if (launches_.find(source, node.launch) != nullptr) {
    launches_.erase(source, node.launch);
  } else if (captured_.size() < LaunchTable::kMaxEntries && have_launches_) {
    captured_.push_back({source, node.launch, 0});
  }
}

void Correlator::on_graph_launch(backend::SourceId source, const backend::GraphLaunch& launch) {
  if (find_source(source) != nullptr) {
    backend::GraphLaunch taken = launch;
    taken.time_ns = std::min(launch.time_ns, now_ns_ + 1'000'000'000);  // a target's word
    graph_launches_.add(source, taken);
  }
}

void Correlator::on_counted_launch(uint32_t function, const LaunchStack& launch) {
  if (launch.pid != options_.attach_pid || !recording_) {
    return;
  }
  Image& image = image_of(process_of(launch.pid));
  WorkKey key;
  key.process = image.process->id;
  key.op = profile::Op::launch;
  key.name = function < options_.counted_functions.size() ? names_.intern(options_.counted_functions[function]) : 0;
  key.tid = launch.tid;
  key.thread = thread_name(launch.pid, launch.tid);
  key.stack = need_stack(image, launch.stack) ? launch.stack : 0;
  const profile::WorkId work = intern(image, key);
  totals_.with_stack += key.stack != 0 ? 1 : 0;
  ++row(launch.time_ns, work).count;
  ++totals_.launches;
}

}  // namespace gpuprof::record
