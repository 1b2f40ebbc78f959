#include "record/join/launches/graph_launches.h"

#include <algorithm>

#include "wire/cuda_launches.h"

namespace gpuprof::record {
namespace {

// Time between two searches for idle graphs. Each search visits all graphs.
constexpr uint64_t kGraphLookupNs = 1'000'000'000;

bool is_before(uint64_t correlation, uint64_t other) {
  return is_earlier_launch(static_cast<uint32_t>(correlation), static_cast<uint32_t>(other));
}

}  // namespace

// Removes graphs that are no longer launched, because programs may create graphs as long as they run.
void GraphLaunches::forget_idle(uint64_t now_ns) {
  if (now_ns < looked_ns_ + kGraphLookupNs) {
    return;
  }
  looked_ns_ = now_ns;
  std::erase_if(graphs_, [&](const auto& entry) {
    const std::vector<GraphRun>& launches = entry.second.launches;
    if (!launches.empty() && launches.back().call.time_ns + kKeepNs > now_ns) {
      return false;
    }
    for (const GraphRun& launch : launches) {
      execs_.erase({entry.first.source, launch.call.correlation});
    }
    launches_ -= launches.size();
    return true;
  });
}

void GraphLaunches::add(backend::SourceId source, const backend::GraphLaunch& launch) {
  if (is_full()) {
    forget_idle(launch.time_ns);
  }
  if (is_full()) {
    if (const auto graph = graphs_.find({source, launch.exec}); graph != graphs_.end()) {
      graph->second.gap_ns = std::min(graph->second.gap_ns, launch.time_ns);
    }
    MemoryBudget::admits(memory_);  // called for its side effect: counts a lost detail
    return;
  }
  insert(source, {.call = launch});
  std::vector<uint64_t>& on_stream = streams_[{source, launch.stream}];
  if (streams_.size() > kMaxStreams) {
    streams_.clear();
    return;
  }
  if (on_stream.size() >= kMaxOfOne) {
    on_stream.erase(on_stream.begin());
  }
  const auto place = std::find_if(on_stream.rbegin(), on_stream.rend(),
                                  [&](uint64_t other) { return is_before(other, launch.correlation); });
  on_stream.insert(place.base(), launch.correlation);
}

void GraphLaunches::insert(backend::SourceId source, const GraphRun& launch) {
  std::vector<GraphRun>& launches = graphs_[{source, launch.call.exec}].launches;
  if (launches.size() >= kMaxOfOne) {
    execs_.erase({source, launches.front().call.correlation});
    launches.erase(launches.begin());
    --launches_;
  }
  // The place is nearly always the end. Launches of one graph may arrive unordered, because each thread has its own
  // ring.
  const auto after = std::find_if(launches.rbegin(), launches.rend(),
                                  [&](const GraphRun& other) { return other.call.time_ns <= launch.call.time_ns; });
  launches.insert(after.base(), launch);
  execs_[{source, launch.call.correlation}] = launch.call.exec;
  ++launches_;
}

GraphLaunches::GraphRun* GraphLaunches::find(backend::SourceId source, uint64_t correlation) {
  const auto exec = execs_.find({source, correlation});
  if (exec == execs_.end()) {
    return nullptr;
  }
  std::vector<GraphRun>& launches = graphs_[{source, exec->second}].launches;
  const auto found = std::find_if(launches.rbegin(), launches.rend(),
                                  [&](const GraphRun& launch) { return launch.call.correlation == correlation; });
  return found == launches.rend() ? nullptr : &*found;
}

void GraphLaunches::ran(const backend::GpuOp& op) {
  if (graphs_.empty() || op.correlation == 0) {
    return;
  }
  if (GraphRun* launch = find(op.source, op.correlation); launch != nullptr) {
    launch->first_ns = std::min(launch->first_ns, op.start_ns);
  } else if (const uint32_t exec = op.graph_node >> 32; !is_full() && graphs_.contains({op.source, exec})) {
    // The ring was full or recording was off, so this launch has no record.
    insert(op.source,
           {.call = {.correlation = op.correlation, .time_ns = op.start_ns, .exec = exec}, .first_ns = op.start_ns});
  }
  const auto stream = streams_.find({op.source, op.stream});
  if (stream == streams_.end()) {
    return;
  }
  // Update over_ns of the previous launch on the stream, and not_before_ns of the next one. called_before() stops at
  // these two launches, so the other launches on the stream need no update.
  const std::vector<uint64_t>& launches = stream->second;
  const auto last_before = std::find_if(launches.rbegin(), launches.rend(),
                                        [&](uint64_t other) { return is_before(other, op.correlation); });
  if (last_before != launches.rend()) {
    if (GraphRun* launch = find(op.source, *last_before); launch != nullptr) {
      launch->over_ns = std::min(launch->over_ns, op.start_ns);
    }
  }
  const auto first_after = std::find_if(last_before.base(), launches.end(),
                                        [&](uint64_t other) { return is_before(op.correlation, other); });
  if (first_after != launches.end()) {
    if (GraphRun* launch = find(op.source, *first_after); launch != nullptr) {
      launch->not_before_ns = std::max(launch->not_before_ns, op.start_ns);
    }
  }
}

std::span<GraphLaunches::GraphRun> GraphLaunches::candidates(const backend::GpuOp& op) {
  const auto found = graphs_.find({op.source, op.exec});
  if (found == graphs_.end() || op.start_ns >= found->second.gap_ns) {
    return {};
  }
  Graph& graph = found->second;
  const std::span<GraphRun> possible = called_before(graph.launches, op.start_ns, op.start_ns);
  if (possible.empty()) {
    return called_before(graph.launches, op.start_ns, op.start_ns + kClockSlackNs);
  }
  if (possible.size() == 1 && possible[0].first_ns != UINT64_MAX && op.start_ns < possible[0].first_ns) {
    graph.body_first = true;
  }
  return possible;
}

std::span<GraphLaunches::GraphRun> GraphLaunches::called_before(std::vector<GraphRun>& launches, uint64_t start_ns,
                                                                uint64_t called_ns) {
  // Search backwards to a launch whose work had begun or ended by `start_ns`. Launches before that one cannot own the
  // work.
  size_t end = launches.size();
  size_t begin = end;
  uint64_t finished = 0;
  while (begin > 0) {
    const GraphRun& launch = launches[begin - 1];
    if (launch.over_ns <= start_ns || (finished != 0 && is_before(launch.call.correlation, finished))) {
      break;
    }
    --begin;
    if (launch.call.time_ns > called_ns || launch.not_before_ns > start_ns) {
      end = begin;
      continue;
    }
    if (launch.first_ns != UINT64_MAX && launch.first_ns > start_ns) {
      end = begin + 1;  // later launches had not begun at start_ns
    }
    if (launch.first_ns <= start_ns) {
      break;  // earlier launches had ended at start_ns
    }
    if (launch.call.finished != 0 && (begin == 0 || launches[begin - 1].call.stream == launch.call.stream)) {
      finished = launch.call.finished;
    }
  }
  return {launches.data() + begin, end - begin};
}

GraphLaunches::GraphRun* GraphLaunches::by_order(const backend::GpuOp& op, std::span<GraphRun> candidates) const {
  const auto found = graphs_.find({op.source, op.exec});
  if (found == graphs_.end() || candidates.size() != 2 || candidates[0].first_ns > op.start_ns ||
      candidates[1].first_ns == UINT64_MAX) {
    return nullptr;
  }
  return found->second.body_first ? &candidates[1] : &candidates[0];
}

void GraphLaunches::end_source(backend::SourceId source) {
  const auto is_of_it = [source](const auto& entry) { return entry.first.source == source; };
  std::erase_if(graphs_, [&](const auto& entry) {
    launches_ -= is_of_it(entry) ? entry.second.launches.size() : 0;
    return is_of_it(entry);
  });
  std::erase_if(streams_, is_of_it);
  std::erase_if(execs_, is_of_it);
}

}  // namespace gpuprof::record
