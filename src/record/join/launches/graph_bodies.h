// Finds the launches of work in the bodies of conditional graph nodes. For such work, CUPTI reports the executable
// graph, but not the launch. GraphBodies holds the work until earlier and later work has arrived (see GraphLaunches).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/context/context.h"
#include "record/join/launches/graph_launches.h"
#include "record/join/launches/launches.h"

namespace gpuprof::record {

class GraphBodies {
 public:
  GraphBodies(JoinContext& join, Launches& launches) : join_(join), launches_(launches) {}

  void on_launch(backend::SourceId source, const backend::GraphLaunch& launch);
  void ran(const backend::GpuOp& op) { graphs_.ran(op); }

  // Holds the work. Returns false if so much new work is held that the caller should call retry_pending() at once.
  [[nodiscard]] bool hold(const backend::GpuOp& op);

  // Calls `take` for work whose launch has been found or whose hold time has passed. The work then has the correlation
  // id of its launch, or 0 if several launches are possible. If `only` is not 0, handles only work of that source.
  // `last`: no more records will arrive.
  using Take = std::function<void(const backend::GpuOp& op)>;
  void retry_pending(bool last, backend::SourceId only, const Take& take);
  void end_source(backend::SourceId source);

 private:
  struct Body {
    backend::GpuOp op;
    uint64_t came_ns = 0;
  };
  [[nodiscard]] GraphLaunches::Origin origin_of(backend::SourceId source, const backend::GraphLaunch& call);
  [[nodiscard]] bool have_one_origin(backend::SourceId source, std::span<GraphLaunches::GraphRun> launches);
  [[nodiscard]] bool find_launch(backend::GpuOp& op, bool last);
  void charge_to_any(backend::GpuOp& op, std::span<GraphLaunches::GraphRun> launches);

  JoinContext& join_;
  Launches& launches_;
  GraphLaunches graphs_{&join_.memory()};
  std::vector<Body> new_;
  std::deque<Body> held_;
};

}  // namespace gpuprof::record
