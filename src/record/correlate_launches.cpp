// What comes from the stack engine, or from targets in its place: stacks, threads, launches, captured nodes.

#include <algorithm>

#include "record/correlate.h"

namespace gpuprof::record {
namespace {

constexpr size_t kMaxStacks = 300'000;        // whose addresses are kept; each takes a kilobyte or less
constexpr size_t kMaxStacksSent = 2'000'000;  // of one process image; work with another one counts as without

}  // namespace

// Anybody can map our libraries and call the probe: only processes of this recording are listened to.
bool Correlator::is_recorded(uint32_t pid) const {
  return pid == options_.attach_pid || processes_.knows(pid);
}

void Correlator::on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> addresses, bool truncated) {
  if (!is_recorded(pid)) {
    return;
  }
  ProcessTable::Entry& process = processes_.by_pid(pid);
  const bool current = processes_.know_mappings(process, addresses);
  RawStack& raw = stacks_[stack];
  raw.maps_current = current;
  raw.process = process.image;
  raw.maps = process.maps;
  raw.addresses.assign(addresses.begin(), addresses.end());
  raw.truncated = truncated;
}

// Hands a stack to the writer the first time that something of this process image names it. False: there is no stack,
// or its frames did not fit into the BPF ring buffer (counted there) and have not been sent again yet.
bool Correlator::need_stack(Image& image, uint64_t stack) {
  if (stack == 0) {
    return false;
  }
  if (image.stacks_sent.contains(stack)) {
    return true;
  }
  const auto found = stacks_.find(stack);
  if (found == stacks_.end() || image.stacks_sent.size() >= kMaxStacksSent) {
    return false;
  }
  RawStack& raw = found->second;
  // The same addresses may come back in the image that an exec has made, and are then somebody else's code.
  const bool own = raw.process == image.process;
  batch_.stacks.push_back(
      {image.process, own ? raw.maps : image.maps, stack, raw.addresses, raw.truncated, own && raw.maps_current});
  raw.sent = true;
  image.stacks_sent.insert(stack);
  return true;
}

// The addresses of stacks that the writer has are kept only for the image that an exec may make. Where they become
// many, they go; the engine sends them again should they be needed.
void Correlator::bound_stacks() {
  if (stacks_.size() <= kMaxStacks) {
    return;
  }
  const auto drop = [this](bool all) {
    std::erase_if(stacks_, [&](const auto& entry) {
      const bool dropped = all || entry.second.sent;
      if (dropped) {
        ended_stacks_.push_back(entry.first);
      }
      return dropped;
    });
  };
  drop(false);
  // The rest are of launches that nothing comes of. Work that does come then has no stack, and is counted so.
  if (stacks_.size() > kMaxStacks / 2) {
    drop(true);
  }
}

void Correlator::on_thread(uint32_t pid, uint32_t tid, std::string_view text) {
  if (is_recorded(pid)) {
    threads_[uint64_t{pid} << 32 | tid] = names_.intern(text);
  }
}

NameIndex Correlator::thread_name(uint32_t pid, uint32_t tid) const {
  const auto thread = threads_.find(uint64_t{pid} << 32 | tid);
  return thread == threads_.end() ? 0 : thread->second;
}

void Correlator::on_launch_stack(const LaunchStack& launch) {
  const Source* source = find_source(launch.source);
  if (source == nullptr || source->pid != launch.pid) {
    return;  // a process that calls the probe with somebody else's source id
  }
  take_launch(launch.source, launch.correlation,
              {.stack = launch.stack,
               .time_ns = launch.time_ns,
               .thread = thread_name(launch.pid, launch.tid),
               .tid = launch.tid,
               .range = launch.range});
}

void Correlator::on_launch(backend::SourceId source, const backend::LaunchCall& launch) {
  if (find_source(source) == nullptr) {
    return;
  }
  take_launch(source, launch.correlation,
              {.time_ns = std::min(launch.time_ns, now_ns_ + 1'000'000'000),  // a target's word
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

void Correlator::on_counted_launch(uint32_t function, const LaunchStack& launch) {
  if (launch.pid != options_.attach_pid || !recording_) {
    return;
  }
  Image& image = image_of(processes_.by_pid(launch.pid));
  WorkKey key;
  key.process = image.process->id;
  key.op = profile::Op::launch;
  key.name = function < options_.counted_functions.size() ? names_.intern(options_.counted_functions[function]) : 0;
  key.tid = launch.tid;
  key.thread = thread_name(launch.pid, launch.tid);
  key.stack = need_stack(image, launch.stack) ? launch.stack : 0;
  const profile::WorkId work = intern(image, key);
  totals_.with_stack += key.stack != 0 ? 1 : 0;
  ++rows_[{slice_of(launch.time_ns), work}].count;
  ++totals_.launches;
}

}  // namespace gpuprof::record
