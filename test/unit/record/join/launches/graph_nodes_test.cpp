
#include "record/join/launches/graph_nodes.h"

#include "catch.h"
#include "join_rig.h"

using gpuprof::backend::GpuOp;
using gpuprof::backend::GraphNode;
using gpuprof::record::Batch;
using gpuprof::record::GraphNodes;
using gpuprof::test::fake_now_ns;
using gpuprof::test::Rig;
namespace profile = gpuprof::profile;

namespace {

GpuOp node_op(uint64_t launch, uint64_t node, uint64_t duration = 10) {
  GpuOp op = Rig::kernel(launch, duration);
  op.graph_node = node;
  op.more = true;
  return op;
}

}  // namespace

TEST_CASE("a node has the stacks of its launch and of its capture") {
  Rig rig;
  rig.stack(77);
  rig.stack(88);
  rig.launch(GPUPROF_CORRELATION_NODE | 5, 88);
  rig.correlator.on_graph_node(1, {.node = 5});
  rig.correlator.on_graph_node(1, {.node = 6, .original = 5});  // instantiated from node 5
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(node_op(1, 6));
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 77);
  CHECK(rig.work(batch).capture == 88);
  CHECK(rig.work(batch).flags == profile::kWorkGraphNode);
  CHECK(batch.stacks.size() == 2);
}

TEST_CASE("a node without a capture stack has a flag if the process was attached to") {
  const bool attached = GENERATE(false, true);
  Rig rig({.attach_pid = attached ? gpuprof::test::kPid : 0});
  rig.stack(77);
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(node_op(1, 6));
  CHECK(rig.take().rows.empty());  // pending: the node's definition may be in another ring
  rig.correlator.end_iteration();
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 77);
  CHECK(rig.work(batch).capture == 0);
  CHECK(rig.work(batch).flags == (profile::kWorkGraphNode | (attached ? profile::kWorkAttached : 0)));
}

TEST_CASE("a node may be defined later in the poll iteration than its work") {
  Rig rig;
  rig.stack(88);
  rig.stack(77);
  rig.launch(1, 77);
  rig.launch(GPUPROF_CORRELATION_NODE | 5, 88);
  rig.correlator.on_gpu_op(node_op(1, 6));
  rig.correlator.on_graph_node(1, {.node = 6, .original = 5});
  rig.correlator.on_graph_node(1, {.node = 5});
  rig.correlator.end_iteration();
  CHECK(rig.work(rig.take()).capture == 88);
}

TEST_CASE("copied nodes find the capture stack of their original") {
  GraphNodes nodes;
  nodes.captured(1, 1, 88);
  nodes.add(1, {.node = 1}, 0);
  SECTION("a chain of copies in order") {
    nodes.add(1, {.node = 2, .original = 1}, 0);
    nodes.add(1, {.node = 3, .original = 2}, 0);
    CHECK(nodes.stack(1, 3) == 88);
  }
  SECTION("a chain of copies in reverse order") {
    nodes.add(1, {.node = 3, .original = 2}, 0);
    CHECK(nodes.stack(1, 3) == 0);
    nodes.add(1, {.node = 2, .original = 1}, 0);
    CHECK(nodes.stack(1, 3) == 88);
    nodes.retry_pending(0);
    CHECK(nodes.stack(1, 3) == 88);
  }
  SECTION("a destroyed original is forgotten after some seconds") {
    nodes.add(1, {.node = 1, .destroyed = true}, 0);
    nodes.add(1, {.node = 2, .original = 1}, 0);
    nodes.retry_pending(GraphNodes::kKeepDestroyedNs - 1);
    CHECK(nodes.knows(1, 1));
    nodes.retry_pending(GraphNodes::kKeepDestroyedNs);
    CHECK_FALSE(nodes.knows(1, 1));
    CHECK(nodes.stack(1, 2) == 88);
    CHECK(nodes.size() == 1);
  }
  SECTION("the id of a destroyed node is reused") {
    nodes.add(1, {.node = 1, .destroyed = true}, 0);
    nodes.captured(1, 1, 99);
    nodes.add(1, {.node = 1}, 0);
    nodes.retry_pending(2 * GraphNodes::kKeepDestroyedNs);
    CHECK(nodes.stack(1, 1) == 99);
  }
  SECTION("a copy's own stack after its record is ignored, but not forever") {
    nodes.add(1, {.node = 2}, 0);
    nodes.add(1, {.node = 2, .original = 1}, 0);
    nodes.retry_pending(0);
    nodes.captured(1, 2, 99);  // ignored: the stack of the call that instantiated the copy
    CHECK(nodes.stack(1, 2) == 88);
    for (int turn = 0; turn < 100; ++turn) {
      nodes.retry_pending(0);
    }
    nodes.captured(1, 2, 99);  // accepted: after a while the id belongs to another node
    CHECK(nodes.stack(1, 2) == 99);
  }
  SECTION("nodes that claim to be copies of each other") {
    nodes.add(1, {.node = 8, .original = 9}, 0);
    nodes.add(1, {.node = 9, .original = 8}, 0);
    CHECK(nodes.stack(1, 8) == 0);
    for (int turn = 0; turn < 100; ++turn) {
      nodes.retry_pending(0);
    }
    CHECK(nodes.stack(1, 9) == 0);
  }
  SECTION("nodes of another process with equal ids") {
    nodes.captured(2, 1, 99);
    CHECK(nodes.stack(1, 1) == 88);
    CHECK(nodes.stack(2, 1) == 99);
    nodes.end_source(2);
    CHECK(nodes.stack(2, 1) == 0);
    CHECK(nodes.size() == 1);
  }
}

TEST_CASE("graphs that are created and destroyed repeatedly do not accumulate") {
  GraphNodes nodes;
  for (uint64_t i = 1; i <= 100'000; ++i) {
    const uint64_t now = i * 100'000'000;  // ten graphs a second
    nodes.captured(1, 2 * i, 88);
    nodes.add(1, {.node = 2 * i}, now);
    nodes.add(1, {.node = 2 * i + 1, .original = 2 * i}, now);
    nodes.add(1, {.node = 2 * i, .destroyed = true}, now);
    nodes.add(1, {.node = 2 * i + 1, .destroyed = true}, now);
    nodes.retry_pending(now);
    REQUIRE(nodes.size() <= 2 * 51);
  }
}

TEST_CASE("a captured launch runs no work and is not counted as without a record") {
  Rig rig;
  rig.stack(88);
  rig.launch(1, 88);
  rig.launch(GPUPROF_CORRELATION_NODE | 5, 88);
  rig.correlator.on_graph_node(1, {.node = 5, .launch = 1});
  gpuprof::backend::Counters counters;
  counters.launches = 2;
  counters.counts[GPUPROF_COUNT_CAPTURED] = 1;
  rig.correlator.on_counters(1, counters);
  rig.launch(2, 88);
  rig.correlator.on_gpu_op(node_op(2, 5));
  rig.correlator.on_gpu_op(node_op(2, 5));
  rig.correlator.close_window(fake_now_ns);
  rig.correlator.finish();
  auto coverage = gpuprof::test::coverage(rig.take());
  CHECK(coverage["launches"] == 2);
  CHECK(coverage["matched"] == 1);
  CHECK(coverage["captured"] == 1);
  CHECK(coverage["without_record"] == 0);
  CHECK(coverage["without_stack"] == 0);
}

TEST_CASE("N nodes and M replays give N x M records, each with both stacks") {
  constexpr uint64_t kNodes = 40;
  constexpr uint64_t kReplays = 500;
  Rig rig;
  rig.stack(77);
  for (uint64_t node = 1; node <= kNodes; ++node) {
    rig.stack(1000 + node % 2);  // two capture sites
    rig.launch(GPUPROF_CORRELATION_NODE | node, 1000 + node % 2);
    rig.correlator.on_graph_node(1, {.node = node});
    rig.correlator.on_graph_node(1, {.node = 1000 + node, .original = node});
  }
  for (uint64_t replay = 0; replay < kReplays; ++replay) {
    rig.launch(replay, 77);
    for (uint64_t node = 1; node <= kNodes; ++node) {
      rig.correlator.on_gpu_op(node_op(replay, 1000 + node, 7));
    }
    rig.correlator.end_iteration();
  }
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 2);
  for (const auto& [key, value] : rig.rows(batch, profile::Op::kernel)) {
    CHECK(value.count == kNodes / 2 * kReplays);
    CHECK(value.sum_ns == kNodes / 2 * kReplays * 7);
    CHECK(key.stack == 77);
    CHECK((key.capture == 1000 || key.capture == 1001));
  }
  CHECK(rig.correlator.totals().with_stack == kNodes * kReplays);
}

TEST_CASE("a kernel without a name gets the name of its graph node") {
  Rig rig;
  rig.correlator.on_name(1, 3, "first");
  rig.correlator.on_name(1, 4, "second");
  rig.stack(77);
  const auto name_of = [&](uint64_t launch, uint64_t node, uint64_t launched_ns) {
    rig.launch(launch, 77, launched_ns);
    GpuOp op = node_op(launch, node);
    op.name_id = 0;
    rig.correlator.on_gpu_op(op);
    rig.correlator.end_iteration();
    const Batch batch = rig.take();
    REQUIRE(batch.rows.size() == 1);
    return rig.names.at(rig.work(batch).name);
  };
  rig.correlator.on_graph_node(1, {.node = 5, .name_id = 3});
  rig.correlator.on_graph_node(1, {.node = 6, .original = 5});
  SECTION("a copy has the kernel of its original") {
    CHECK(name_of(1, 6, 100) == "first");
    CHECK(name_of(2, 5, 100) == "first");
  }
  SECTION("work launched before an update keeps the old name") {
    rig.correlator.on_graph_node(1, {.node = 6, .time_ns = 200, .name_id = 4, .updated = true});
    CHECK(name_of(1, 6, 100) == "first");
    CHECK(name_of(2, 6, 300) == "second");
    rig.correlator.on_graph_node(1, {.node = 6, .time_ns = 400, .name_id = 3, .updated = true});
    CHECK(name_of(3, 6, 300) == "second");
    CHECK(name_of(4, 6, 500) == "first");
    CHECK(name_of(5, 6, 100) == "[kernel name not known]");  // older names of a node are not kept
    CHECK(rig.correlator.totals().lost.at("kernel_name") == 1);
  }
  SECTION("an update can refer to a node of another graph, with its stack") {
    rig.stack(88);
    rig.launch(GPUPROF_CORRELATION_NODE | 9, 88);
    rig.correlator.on_graph_node(1, {.node = 9, .name_id = 4});
    rig.correlator.on_graph_node(1, {.node = 6, .original = 9, .time_ns = 200, .updated = true});
    CHECK(name_of(1, 6, 300) == "second");
    CHECK(rig.works.rbegin()->second.capture == 88);
  }
  SECTION("copies have no name, and parameter changes keep their stack") {
    rig.stack(88);
    rig.launch(GPUPROF_CORRELATION_NODE | 9, 88);
    rig.correlator.on_graph_node(1, {.node = 9});
    for (const uint64_t time : {200, 300, 400}) {
      rig.correlator.on_graph_node(1, {.node = 9, .time_ns = time, .updated = true});
    }
    GpuOp copy = node_op(1, 9);
    copy.op = GPUPROF_OP_COPY;
    copy.name_id = 0;
    rig.launch(1, 77, 100);
    rig.correlator.on_gpu_op(copy);
    rig.correlator.end_iteration();
    CHECK(rig.work(rig.take()).capture == 88);
  }
  SECTION("work with a name also names later work of its node") {
    GpuOp told = node_op(1, 70);
    told.name_id = 4;
    rig.launch(1, 77, 100);
    rig.correlator.on_gpu_op(told);
    rig.correlator.end_iteration();
    rig.take();
    CHECK(name_of(2, 70, 100) == "second");
  }
}

TEST_CASE("a replay notices that the work of a node has changed") {
  Rig rig;
  for (const uint64_t stack : {77U, 78U, 88U, 99U}) {
    rig.stack(stack);
  }
  uint64_t replays = 0;
  const auto replay = [&](uint64_t stack, uint64_t launched_ns) {
    rig.launch(++replays, stack, launched_ns);
    rig.correlator.on_gpu_op(node_op(replays, 5));
    const Batch batch = rig.take();
    REQUIRE(batch.rows.size() == 1);
    return rig.work(batch);
  };
  rig.launch(GPUPROF_CORRELATION_NODE | 5, 88);
  rig.correlator.on_graph_node(1, {.node = 5});
  for (int i = 0; i < 3; ++i) {
    CHECK(replay(77, 100).capture == 88);
  }
  SECTION("another place launches the graph") {
    CHECK(replay(78, 100).stack == 78);
    CHECK(replay(77, 100).stack == 77);
  }
  SECTION("the id belongs to a new node") {
    rig.correlator.on_graph_node(1, {.node = 5, .destroyed = true});
    rig.launch(GPUPROF_CORRELATION_NODE | 5, 99);
    rig.correlator.on_graph_node(1, {.node = 5});
    CHECK(replay(77, 100).capture == 99);
  }
  SECTION("only the stack of the new node has arrived") {
    rig.launch(GPUPROF_CORRELATION_NODE | 5, 99);
    CHECK(replay(77, 100).capture == 99);
  }
  SECTION("an update") {
    rig.launch(GPUPROF_CORRELATION_NODE | 9, 99);
    rig.correlator.on_graph_node(1, {.node = 9});
    rig.correlator.on_graph_node(1, {.node = 5, .original = 9, .time_ns = 200, .updated = true});
    CHECK(replay(77, 300).capture == 99);
    CHECK(replay(77, 100).capture == 88);
    CHECK(replay(77, 300).capture == 99);
  }
  SECTION("a name") {
    rig.correlator.on_name(1, 1, "other");
    CHECK(rig.names.at(replay(77, 100).name) == "other");
  }
}
