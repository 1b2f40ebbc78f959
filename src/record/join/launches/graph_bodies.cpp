#include "record/join/launches/graph_bodies.h"

#include <algorithm>
#include <utility>

#include "record/join/context/pending.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

// If this much new work arrives in one poll iteration, hold() returns false.
constexpr size_t kMaxNew = 200'000;

// Work is held for this time. CUPTI delivers records at least once a second, so all neighbouring work has then arrived.
constexpr uint64_t kHoldNs = 1'500'000'000;
static_assert(kHoldNs > GPUPROF_IDLE_FLUSH_NS);

using Origin = GraphLaunches::Origin;

// Chooses among launches with the same attribution. Prefers a launch without work, so that each launch gets some.
GraphLaunches::GraphRun& any_of(std::span<GraphLaunches::GraphRun> launches) {
  const auto idle = std::find_if(launches.begin(), launches.end(), [](const auto& launch) { return !launch.matched; });
  return idle == launches.end() ? launches.back() : *idle;
}

void charge(backend::GpuOp& op, GraphLaunches::GraphRun& launch) {
  launch.matched = true;
  op.correlation = launch.call.correlation;
  op.outside = launch.call.outside;
}

}  // namespace

void GraphBodies::on_launch(backend::SourceId source, const backend::GraphLaunch& launch) {
  backend::GraphLaunch taken = launch;
  taken.time_ns = join_.clamped_call_time(launch.time_ns);
  graphs_.add(source, taken);
}

bool GraphBodies::hold(const backend::GpuOp& op) {
  new_.push_back({op, join_.now_ns});
  return new_.size() < kMaxNew;
}

Origin GraphBodies::origin_of(backend::SourceId source, const backend::GraphLaunch& call) {
  if (call.outside) {
    return {.kind = Origin::Kind::outside};
  }
  const PendingLaunch* known = launches_.find(source, call.correlation);
  return known == nullptr
             ? Origin{}
             : Origin{.kind = Origin::Kind::recorded, .tid = known->tid, .range = known->range, .stack = known->stack};
}

bool GraphBodies::have_one_origin(backend::SourceId source, std::span<GraphLaunches::GraphRun> launches) {
  if (launches.size() == 1) {
    return true;
  }
  for (GraphLaunches::GraphRun& launch : launches) {
    if (launch.origin.kind == Origin::Kind::unknown) {
      launch.origin = origin_of(source, launch.call);
    }
    if (launch.origin.kind == Origin::Kind::unknown || launch.origin != launches.front().origin) {
      return false;
    }
  }
  return !launches.empty();
}

// Leaves the work without a launch, because its possible launches have different origins. Marks all of them as matched.
void GraphBodies::charge_to_any(backend::GpuOp& op, std::span<GraphLaunches::GraphRun> launches) {
  for (GraphLaunches::GraphRun& launch : launches) {
    // Do not count the work if one of the launches is outside of --nvtx-range.
    op.outside = op.outside || launch.call.outside;
    if (!launch.matched) {
      launches_.match(op.source, launch.call);
    }
    launch.matched = true;
  }
}

// Finds the launch of the work. Returns false if several launches are possible and records that arrive later may
// decide.
bool GraphBodies::find_launch(backend::GpuOp& op, bool last) {
  const auto launches = graphs_.candidates(op);
  if (have_one_origin(op.source, launches)) {
    charge(op, any_of(launches));
    return true;
  }
  if (!last) {
    return false;
  }
  if (GraphLaunches::GraphRun* found = graphs_.by_order(op, launches); found != nullptr) {
    charge(op, *found);
  } else {
    charge_to_any(op, launches);
  }
  return true;
}

void GraphBodies::retry_pending(bool last, backend::SourceId only, const Take& take) {
  const auto is_wanted = [&](const Body& body) { return only == 0 || body.op.source == only; };
  const auto try_now = [&](Body& body, bool now) {
    const bool found = find_launch(body.op, now);
    if (found) {
      take(body.op);
    }
    return found;
  };
  for (Body& body : std::exchange(new_, {})) {
    const bool full = held_.size() >= kMaxPending;
    if (!is_wanted(body) || !try_now(body, last || full)) {
      held_.push_back(body);
    }
  }
  if (last) {
    std::erase_if(held_, [&](Body& body) { return is_wanted(body) && try_now(body, true); });
  }
  for (; !held_.empty() && held_.front().came_ns + kHoldNs <= join_.now_ns; held_.pop_front()) {
    try_now(held_.front(), true);
  }
}

void GraphBodies::end_source(backend::SourceId source) {
  graphs_.end_source(source);
}

}  // namespace gpuprof::record
