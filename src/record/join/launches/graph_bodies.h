// Work in the bodies of conditional graph nodes, of which only the executable graph is known: held back until enough is
// known of what ran before and after to say which launch it belongs to (see GraphLaunches).
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
  // Work whose launch is known has run.
  void ran(const backend::GpuOp& op) { graphs_.ran(op); }

  // False: settle() should be called, there are many.
  [[nodiscard]] bool hold(const backend::GpuOp& op);

  // Gives the work whose launch is found, or that has waited long enough, to `take`, with the launch's correlation id;
  // 0 where any of several launches may have caused it. `only`: of this source (0: of all). `last`: nothing more will
  // become known of it.
  using Take = std::function<void(const backend::GpuOp& op)>;
  void settle(bool last, backend::SourceId only, const Take& take);
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
  std::deque<Body> held_;  // those that more than one launch may have caused, by what is known so far
};

}  // namespace gpuprof::record
