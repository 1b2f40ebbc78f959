// Tests calls, waits and memory that the OpenCL layer records, with a program that prints what it does.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "catch.h"
#include "layered.h"

using gpuprof::test::FakeRecorder;
using gpuprof::test::Run;
using gpuprof::test::run_with_layer;
using gpuprof::test::Source;

namespace {

using Numbers = std::map<std::string, long>;

Numbers expectations(const std::string& output) {
  Numbers numbers;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (line.rfind("expect ", 0) == 0 && equals != std::string::npos) {
      numbers[line.substr(7, equals - 7)] = std::stol(line.substr(equals + 1));
    }
  }
  return numbers;
}

Numbers part(const Numbers& numbers, const std::string& prefix) {
  Numbers result;
  for (const auto& [key, number] : numbers) {
    if (key.rfind(prefix, 0) == 0) {
      result[key] = number;
    }
  }
  return result;
}

Numbers waits_of(const Source& source) {
  Numbers waits;
  for (const gpuprof_host_op& op : source.host_ops) {
    if (op.op == GPUPROF_HOST_SYNC) {
      ++waits["sync." + source.names.at(op.name_id)];
    }
  }
  return waits;
}

Numbers calls_of(const Source& source) {
  Numbers calls;
  for (const gpuprof_call& call : source.calls) {
    ++calls["call." + source.names.at(call.name_id)];
  }
  return calls;
}

Numbers memory_of(const Source& source) {
  Numbers numbers;
  for (const gpuprof_host_op& op : source.host_ops) {
    if (op.op == GPUPROF_HOST_ALLOC || op.op == GPUPROF_HOST_FREE) {
      const std::string kind = op.op == GPUPROF_HOST_ALLOC ? "alloc" : "free";
      numbers[kind + "s"] += static_cast<long>(op.count);
      numbers[kind + "_bytes"] += static_cast<long>(op.bytes);
    }
  }
  return numbers;
}

Numbers expected_memory(const Numbers& expected) {
  return {{"allocs", expected.at("allocs")},
          {"alloc_bytes", expected.at("alloc_bytes")},
          {"frees", expected.at("frees")},
          {"free_bytes", expected.at("free_bytes")}};
}

FakeRecorder::Options with_control(uint32_t more) {
  FakeRecorder::Options options;
  options.control = GPUPROF_CONTROL_ENABLED | more;
  return options;
}

Run run_calls(uint32_t control, const std::vector<std::string>& arguments = {}) {
  std::vector<std::string> command = {GPUPROF_TEST_CALLS};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Run run = run_with_layer(command, GPUPROF_TEST_LAYER, with_control(control));
  REQUIRE(run.status == 0);
  REQUIRE(run.sources.size() == 1);
  CHECK(run.sources[0].all_lost() == 0);
  CHECK(run.sources[0].bad_records == 0);
  return run;
}

}  // namespace

TEST_CASE("waits, blocking copies and allocations are recorded, each with its own stack") {
  const Run run = run_calls(GPUPROF_CONTROL_LAUNCH_RECORDS);
  const Source& source = run.sources[0];
  const Numbers expected = expectations(run.output);
  CHECK(waits_of(source) == part(expected, "sync."));
  CHECK(memory_of(source) == expected_memory(expected));
  CHECK(source.calls.empty());  // the recorder did not request calls
  CHECK(source.ops.size() == static_cast<size_t>(expected.at("calls")));
  CHECK(source.counts[GPUPROF_COUNT_FAILED] == static_cast<uint64_t>(expected.at("failed")));
  std::set<uint64_t> stacks;
  for (const gpuprof_launch& launch : source.launch_records) {
    CHECK(stacks.insert(launch.correlation).second);
  }
  // Allocated and freed memory has the stack of the call that is reported with its duration.
  std::set<std::pair<uint64_t, bool>> seen;
  std::set<uint64_t> of_calls;
  for (const gpuprof_host_op& op : source.host_ops) {
    if (op.op == GPUPROF_HOST_CALL) {
      of_calls.insert(op.correlation);
    }
  }
  std::set<std::string> failed;
  for (const gpuprof_host_op& op : source.host_ops) {
    if (op.op == GPUPROF_HOST_FAILED) {
      failed.insert(source.names.at(op.name_id));
      CHECK(stacks.count(op.correlation) == 1);
      continue;
    }
    CHECK((op.correlation & GPUPROF_CORRELATION_HOST) != 0);
    CHECK(stacks.count(op.correlation) == 1);
    CHECK(seen.emplace(op.correlation, op.op == GPUPROF_HOST_CALL).second);
    const std::string& function = source.names.at(op.name_id);
    if ((op.op == GPUPROF_HOST_ALLOC || op.op == GPUPROF_HOST_FREE) && function != "clReleaseMemObject" &&
        function != "clEnqueueSVMFree") {
      INFO(function);
      CHECK(of_calls.count(op.correlation) == 1);
    }
    CHECK(op.tid == static_cast<uint32_t>(source.pid));
    CHECK(op.end_ns >= op.start_ns);
    const bool is_timed = op.op == GPUPROF_HOST_SYNC || op.op == GPUPROF_HOST_CALL;
    CHECK(op.device == (is_timed ? UINT32_MAX : 0));
    CHECK(is_timed == (op.end_ns > op.start_ns));
  }
  CHECK(failed == std::set<std::string>{"clCreateBuffer: CL_INVALID_BUFFER_SIZE (-61)",
                                        "clEnqueueReadBuffer: CL_INVALID_COMMAND_QUEUE (-36)",
                                        "clEnqueueReadBuffer: CL_INVALID_VALUE (-30)",
                                        "clFinish: CL_INVALID_COMMAND_QUEUE (-36)", "clSVMAlloc: failed",
                                        "clWaitForEvents: CL_INVALID_VALUE (-30)",
                                        "clWaitForEvents: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14)"});
}

TEST_CASE("a call that a callback leaves by a jump does not hide the calls after it") {
  const Run run = run_calls(0, {"--jump"});
  const Source& source = run.sources[0];
  CHECK(std::count_if(source.host_ops.begin(), source.host_ops.end(), [&](const gpuprof_host_op& op) {
          return op.op == GPUPROF_HOST_CALL && source.names.at(op.name_id) == "clBuildProgram";
        }) == expectations(run.output).at("built"));
}

TEST_CASE("calls are recorded if the recorder requests them, and include their waits") {
  const Run run = run_calls(GPUPROF_CONTROL_CALLS);
  const Source& source = run.sources[0];
  const Numbers expected = expectations(run.output);
  // The layer also records rejected calls. In this program only reads are rejected.
  Numbers calls = part(expected, "call.");
  calls["call.clEnqueueReadBuffer"] += expected.at("failed");
  CHECK(calls_of(source) == calls);
  CHECK(waits_of(source) == part(expected, "sync."));
  std::map<uint64_t, const gpuprof_call*> by_correlation;
  for (const gpuprof_call& call : source.calls) {
    CHECK(by_correlation.emplace(call.correlation, &call).second);
    CHECK(call.end_ns > call.start_ns);
    CHECK(call.tid == static_cast<uint32_t>(source.pid));
  }
  for (const gpuprof_gpu_op& op : source.ops) {
    CHECK(by_correlation.count(op.correlation) == 1);
  }
  // The wait of a blocking copy lasts as long as its call.
  for (const gpuprof_host_op& op : source.host_ops) {
    if (source.names.at(op.name_id) == "clEnqueueReadBuffer") {
      CHECK(std::count_if(source.calls.begin(), source.calls.end(), [&](const gpuprof_call& call) {
              return call.start_ns == op.start_ns && call.end_ns == op.end_ns;
            }) == 1);
    }
  }
}

TEST_CASE("an enqueue of a command buffer is one work item with the time and bytes of all commands in it") {
  const bool is_new = GENERATE(false, true);  // with a function of version 0.9.5 of the extension
  const Run run =
      is_new ? run_with_layer({GPUPROF_TEST_CALLS}, GPUPROF_TEST_EXTENSIONS ":" GPUPROF_TEST_LAYER) : run_calls(0);
  REQUIRE(run.sources.size() == 1);
  const Source& source = run.sources[0];
  const Numbers expected = expectations(run.output);
  if (expected.count("command_buffers") == 0) {
    WARN("skipped: this OpenCL has no command buffers");
    return;
  }
  const std::string name = "command buffer: [fill] x" + std::to_string(expected.at("buffer_fills")) + ", [copy] x" +
                           std::to_string(expected.at("buffer_copies")) + ", spin x3";
  long found = 0;
  for (const gpuprof_gpu_op& op : source.ops) {
    if (op.op == GPUPROF_OP_GRAPH) {
      ++found;
      CHECK(source.name_of(op) == name);
      CHECK(op.bytes == static_cast<uint64_t>(expected.at("buffer_bytes")));
      CHECK(op.start_ns >= op.queued_ns);
    }
  }
  CHECK(found == expected.at("command_buffers"));
  // PoCL itself gives only the time of a marker at the end of a command buffer, which is less than a microsecond.
  for (const gpuprof_gpu_op& op : source.ops) {
    if (op.op == GPUPROF_OP_GRAPH) {
      CHECK(op.end_ns - op.start_ns > static_cast<uint64_t>(expected.at("spin_ns")) * 3 / 2);
    }
  }
  CHECK(std::count_if(source.metas.begin(), source.metas.end(),
                      [](const std::string& meta) { return meta.rfind("note.opencl.command_buffers=", 0) == 0; }) == 1);
}

TEST_CASE("extension functions are recorded if they are known, and counted as lost work otherwise") {
  const std::string layers = std::string(GPUPROF_TEST_EXTENSIONS) + ":" + GPUPROF_TEST_LAYER;
  const Run run = run_with_layer({GPUPROF_TEST_CALLS}, layers, with_control(GPUPROF_CONTROL_CALLS));
  REQUIRE(run.status == 0);
  REQUIRE(run.sources.size() == 1);
  const Source& source = run.sources[0];
  const Numbers expected = expectations(run.output);
  REQUIRE(expected.at("unknown") == 6);
  CHECK(source.lost[GPUPROF_LOSS_UNKNOWN_FUNCTION] == 6);
  CHECK(source.all_lost() == 6);
  for (const char* function : {"clRunTEST", "clEnqueueTEST"}) {
    CHECK(std::count_if(source.metas.begin(), source.metas.end(), [&](const std::string& meta) {
            return meta.rfind("note.opencl." + std::string(function) + "=", 0) == 0;
          }) == 1);
  }
  CHECK(expected.count("call.clEnqueueMemcpyINTEL") == 1);
  CHECK(source.ops.size() == static_cast<size_t>(expected.at("calls")));
  CHECK(waits_of(source) == part(expected, "sync."));
  CHECK(memory_of(source) == expected_memory(expected));
}

TEST_CASE("nothing is recorded while recording is off") {
  FakeRecorder::Options off;
  off.control = GPUPROF_CONTROL_CALLS;
  const Run run = run_with_layer({GPUPROF_TEST_CALLS}, GPUPROF_TEST_LAYER, off);
  REQUIRE(run.status == 0);
  REQUIRE(run.sources.size() == 1);
  CHECK(run.sources[0].host_ops.empty());
  CHECK(run.sources[0].calls.empty());
  CHECK(run.sources[0].ops.empty());
  CHECK(run.sources[0].launches == 0);
}

TEST_CASE("concurrent allocations and releases are each recorded once") {
  Run run;
  // Repeats the run if records were lost: on a busy machine, a lock's holder may be off the CPU for too long.
  for (int tries_left = 3; tries_left > 0; --tries_left) {
    run = run_with_layer({GPUPROF_TEST_THREADS, "6", "3000", "1", "--memory"});
    REQUIRE(run.sources.size() == 1);
    if (run.sources[0].all_lost() == 0) {
      break;
    }
  }
  CHECK(run.sources[0].all_lost() == 0);
  const long count = 6 * 3000 + 6;  // plus one buffer for the kernels of each thread
  const long bytes = 6 * 3000 * 100 + 6 * 64 * 4;
  const Numbers expected = {{"allocs", count}, {"frees", count}, {"alloc_bytes", bytes}, {"free_bytes", bytes}};
  CHECK(memory_of(run.sources[0]) == expected);
}

TEST_CASE("memory in a context of several devices belongs to none of them") {
  setenv("POCL_DEVICES", "pthread pthread", 1);
  const Run run = run_calls(0, {"--all-devices"});
  unsetenv("POCL_DEVICES");
  const Numbers expected = expectations(run.output);
  CHECK(memory_of(run.sources[0]) == expected_memory(expected));
  if (expected.at("devices") < 2) {
    WARN("skipped: this OpenCL has one device");
    return;
  }
  for (const gpuprof_host_op& op : run.sources[0].host_ops) {
    CHECK(op.device == UINT32_MAX);
  }
}
