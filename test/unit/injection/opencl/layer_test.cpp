// Runs real programs with the OpenCL layer on a real driver.
#include <algorithm>
#include <map>
#include <set>

#include "catch.h"
#include "layered.h"

using gpuprof::test::Run;
using gpuprof::test::run_natively;
using gpuprof::test::run_once_with_layer;
using gpuprof::test::run_with_layer;
using gpuprof::test::Source;

namespace {

// Returns the least time of a kernel. Longer times may come from the scheduler of a busy machine.
uint64_t least_ns(const Source& source, const std::string& kernel) {
  uint64_t least = UINT64_MAX;
  for (const gpuprof_gpu_op& op : source.ops) {
    if (source.name_of(op) == kernel) {
      least = std::min(least, op.end_ns - op.start_ns);
    }
  }
  return least;
}

std::map<unsigned, uint64_t> bytes_by_op(const Source& source) {
  std::map<unsigned, uint64_t> bytes;
  for (const gpuprof_gpu_op& op : source.ops) {
    bytes[op.op] += op.bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("launches, names and times of the example program are recorded") {
  const Run run = run_with_layer({GPUPROF_TEST_EXAMPLE, "--launches", "100"});
  REQUIRE(run.status == 0);
  CHECK(run.output.find("expected solve heavy 100") != std::string::npos);
  REQUIRE(run.sources.size() == 1);
  const Source& source = run.sources[0];
  CHECK(source.backend == "opencl");
  CHECK(source.state == GPUPROF_STATE_FINISHED);
  CHECK(source.flushed == 1);
  CHECK(source.all_lost() == 0);
  CHECK(source.bad_records == 0);
  CHECK(source.launches == 300);
  REQUIRE(source.ops.size() == 300);
  REQUIRE(source.devices.size() == 1);
  CHECK_FALSE(source.devices.at(0).empty());
  std::map<std::string, int> counts;
  std::set<uint64_t> seen;
  for (const gpuprof_gpu_op& op : source.ops) {
    ++counts[source.name_of(op)];
    REQUIRE(op.op == GPUPROF_OP_KERNEL);
    REQUIRE(op.end_ns > op.start_ns);
    REQUIRE(op.submitted_ns >= op.queued_ns);
    REQUIRE(op.start_ns >= op.submitted_ns);
    REQUIRE(op.stream == 1);
    REQUIRE(seen.insert(op.correlation).second);
  }
  CHECK(counts == std::map<std::string, int>{{"heavy", 100}, {"light", 200}});
  const double ratio = static_cast<double>(least_ns(source, "heavy")) / static_cast<double>(least_ns(source, "light"));
  CHECK(ratio > 3.6);
  CHECK(ratio < 4.4);
}

TEST_CASE("a kernel name that the driver does not write is unknown") {
  setenv("TEST_MUTE", "1", 1);
  const Run run = run_with_layer({GPUPROF_TEST_EXAMPLE, "--launches", "3"},
                                 std::string(GPUPROF_TEST_EXTENSIONS) + ":" + GPUPROF_TEST_LAYER);
  unsetenv("TEST_MUTE");
  REQUIRE(run.sources.size() == 1);
  REQUIRE(run.sources[0].ops.size() == 9);
  for (const gpuprof_gpu_op& op : run.sources[0].ops) {
    CHECK(op.name_id == 0);
  }
}

TEST_CASE("GPU times are on the clock of the recorder") {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t before = static_cast<uint64_t>(now.tv_sec) * 1000000000ULL;
  const Run run = run_with_layer({GPUPROF_TEST_EXAMPLE, "--launches", "3"});
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t after = (static_cast<uint64_t>(now.tv_sec) + 1) * 1000000000ULL;
  REQUIRE(run.sources.size() == 1);
  REQUIRE(run.sources[0].ops.size() == 9);
  for (const gpuprof_gpu_op& op : run.sources[0].ops) {
    CHECK(op.start_ns > before);
    CHECK(op.end_ns < after);
  }
}

TEST_CASE("a program behaves the same with and without the layer") {
  const Run native = run_natively({GPUPROF_TEST_SEMANTICS});
  const Run layered = run_with_layer({GPUPROF_TEST_SEMANTICS});
  REQUIRE(native.status == 0);
  CHECK(layered.status == 0);
  CHECK(layered.output == native.output);
  REQUIRE(layered.sources.size() == 1);
  const Source& source = layered.sources[0];
  CHECK(source.all_lost() == 0);
  const std::map<unsigned, uint64_t> bytes = bytes_by_op(source);
  CHECK(bytes.at(GPUPROF_OP_COPY_HTOD) == 4096);  // only the write: the bytes that an unmap moves are unknown
  CHECK(bytes.at(GPUPROF_OP_COPY_DTOD) == 4096);
  CHECK(bytes.at(GPUPROF_OP_FILL) == 1024);
  CHECK(bytes.at(GPUPROF_OP_COPY_DTOH) == 4096 + 16 * 4 * 2 + 256);  // bytes of a read, a rectangular read and a map
  CHECK(std::count_if(source.ops.begin(), source.ops.end(),
                      [&](const gpuprof_gpu_op& op) { return source.name_of(op) == "work"; }) == 6);
}

TEST_CASE("the layer changes nothing without a recorder") {
  const Run native = run_natively({GPUPROF_TEST_SEMANTICS});
  const Run passed = run_natively({GPUPROF_TEST_SEMANTICS}, {{"OPENCL_LAYERS", GPUPROF_TEST_LAYER}});
  CHECK(passed.status == native.status);
  CHECK(passed.output == native.output);
}

TEST_CASE("a layer that is loaded twice records each launch once") {
  const std::string layer = GPUPROF_TEST_LAYER;
  const Run run = run_with_layer({GPUPROF_TEST_EXAMPLE, "--launches", "2"}, layer + ":" + layer);
  CHECK(run.status == 0);
  REQUIRE(run.sources.size() == 1);
  CHECK(run.sources[0].launches == 6);
  CHECK(run.sources[0].ops.size() == 6);
}

TEST_CASE("threads with separate queues are recorded without losses") {
  const Run run = run_with_layer({GPUPROF_TEST_THREADS, "6", "400", "1"});
  REQUIRE(WIFEXITED(run.status));
  CHECK(WEXITSTATUS(run.status) == 5);
  REQUIRE(run.sources.size() == 1);
  const Source& source = run.sources[0];
  CHECK(source.all_lost() == 0);
  CHECK(source.launches == 2400);
  CHECK(source.ops.size() == 2400);
  std::map<uint64_t, int> by_queue;
  for (const gpuprof_gpu_op& op : source.ops) {
    ++by_queue[op.stream];
  }
  CHECK(by_queue == std::map<uint64_t, int>{{1, 400}, {2, 400}, {3, 400}, {4, 400}, {5, 400}, {6, 400}});
}

TEST_CASE("a program that abandons its work ends in time, and the abandoned work is counted") {
  const uint64_t seconds = 15;
  timespec before = {};
  timespec after = {};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const Run run = run_once_with_layer({GPUPROF_TEST_THREADS, "1", "50", "2000000", "--leave"}, GPUPROF_TEST_LAYER);
  clock_gettime(CLOCK_MONOTONIC, &after);
  REQUIRE(WIFEXITED(run.status));
  CHECK(WEXITSTATUS(run.status) == 5);
  CHECK(static_cast<uint64_t>(after.tv_sec - before.tv_sec) < seconds);
  REQUIRE(run.sources.size() == 1);
  const Source& source = run.sources[0];
  CHECK(source.state == GPUPROF_STATE_FINISHED);
  CHECK(source.launches == 50);
  CHECK(source.lost[GPUPROF_LOSS_UNFINISHED] > 0);
  CHECK(source.ops.size() + source.lost[GPUPROF_LOSS_UNFINISHED] == 50);
  // The program has released its buffer, which the kernels still use.
  CHECK(std::count_if(source.host_ops.begin(), source.host_ops.end(),
                      [](const gpuprof_host_op& op) { return op.op == GPUPROF_HOST_FREE; }) == 1);
}
