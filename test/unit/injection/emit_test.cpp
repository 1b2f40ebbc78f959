// Tests the common code of the injection libraries against a fake recorder. Each test is a separate target process.

#include "ipc/emit.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>
#include <thread>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "catch.h"
#include "child.h"
#include "fake_recorder.h"
#include "ipc/names.h"
#include "jit/jit_arch.h"
#include "recorded.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

using gpuprof::test::Environment;
using gpuprof::test::FakeRecorder;
using gpuprof::test::fork_child;
using gpuprof::test::op_with;
using gpuprof::test::record;
using gpuprof::test::record_one;
using gpuprof::test::Source;
using gpuprof::test::wait_for;
using gpuprof::test::wait_until_read;
namespace injection = gpuprof::injection;

TEST_CASE("profiling stays off without a recorder") {
  const Environment nobody = {{GPUPROF_ENV_SOCKET, "gpuprof-test-nobody"},
                              {GPUPROF_ENV_TOKEN, "0123456789abcdef0123456789abcdef"}};
  const pid_t pid = fork_child(nobody, [] {
    const bool on = injection::start("test") || injection::active();
    injection::launch(1);  // a launch without a connection must be harmless
    injection::gpu_op(op_with(1), true);
    return on ? 1 : 0;
  });
  CHECK(wait_for(pid) == 0);
}

TEST_CASE("a recorder rejects an unknown token") {
  FakeRecorder recorder;
  Environment environment = recorder.environment();
  environment[1].second = "ffffffffffffffffffffffffffffffff";
  const pid_t pid = fork_child(environment, [] { return injection::start("test") ? 1 : 0; });
  recorder.start();
  CHECK(wait_for(pid) == 0);
  recorder.stop();
  CHECK(recorder.sources().empty());
}

TEST_CASE("a recorder that does not answer costs bounded time") {
  FakeRecorder recorder;  // listens, but does not answer
  const uint64_t begin = injection::now_ns();
  const pid_t pid = fork_child(recorder.environment(), [] { return injection::start("test") ? 1 : 0; });
  CHECK(wait_for(pid) == 0);
  CHECK(injection::now_ns() - begin < 10000000000ULL);
}

TEST_CASE("records arrive unchanged") {
  const Source source = record_one({}, [] {
    gpuprof_gpu_op op = op_with(7);
    op.name_id = injection::name_id("kernel");
    op.bytes = 4096;
    op.stream = 3;
    op.op = GPUPROF_OP_COPY_HTOD;
    injection::device(2, "a device", "GPU-1234");
    injection::device(3, "another", nullptr);
    injection::meta("key", "value");
    injection::gpu_op(op, false);
    injection::lost(GPUPROF_LOSS_NO_TIMING, 11);
    injection::finish();
    return injection::active() ? 1 : 0;
  });
  CHECK(source.backend == "test");
  CHECK(source.state == GPUPROF_STATE_FINISHED);
  CHECK(source.devices.at(2) == "a device");
  CHECK(source.uuids == std::map<uint32_t, std::string>{{2, "GPU-1234"}});
  CHECK(source.metas == std::vector<std::string>{"key=value"});
  REQUIRE(source.ops.size() == 1);
  CHECK(source.name_of(source.ops[0]) == "kernel");
  CHECK(source.ops[0].correlation == 7);
  CHECK(source.ops[0].start_ns == 70);
  CHECK(source.ops[0].end_ns == 75);
  CHECK(source.ops[0].bytes == 4096);
  CHECK(source.ops[0].stream == 3);
  CHECK(source.ops[0].op == GPUPROF_OP_COPY_HTOD);
  CHECK(source.lost[GPUPROF_LOSS_NO_TIMING] == 11);
}

TEST_CASE("launches are counted, some are timed, and they are sent if the recorder requests it") {
  FakeRecorder::Options options;
  SECTION("launch records not requested") {}
  SECTION("launch records requested") {
    options.control |= GPUPROF_CONTROL_LAUNCH_RECORDS;
  }
  const Source source = record_one(options, [] {
    prctl(PR_SET_NAME, "launcher");
    for (int i = 0; i < 640; ++i) {
      injection::launch(injection::next_correlation());
    }
    return 0;
  });
  CHECK(source.launches == 640);
  CHECK(source.overhead_samples == 10);
  CHECK(source.overhead_ns > 0);
  CHECK(source.state == GPUPROF_STATE_ACTIVE);
  if ((options.control & GPUPROF_CONTROL_LAUNCH_RECORDS) == 0) {
    CHECK(source.launch_records.empty());
    return;
  }
  REQUIRE(source.launch_records.size() == 640);
  for (size_t i = 0; i < source.launch_records.size(); ++i) {
    REQUIRE(source.launch_records[i].correlation == i + 1);
    REQUIRE(source.launch_records[i].tid == static_cast<uint32_t>(source.pid));
    REQUIRE(std::string(source.launch_records[i].thread) == "launcher");
    REQUIRE(source.launch_records[i].time_ns >= (i == 0 ? 1 : source.launch_records[i - 1].time_ns));
  }
  // Successive launches may have equal times, because some clocks have coarse steps. The first and the last launch may
  // not.
  CHECK(source.launch_records.back().time_ns > source.launch_records.front().time_ns);
}

TEST_CASE("captured and failed launches are counted, each launch once") {
  const Source source = record_one({}, [] {
    injection::launch(1);
    injection::call_failed(1, {"cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE", 1});
    injection::launch(2);
    injection::launch_captured(2);
    injection::call_failed(77, {"cuLaunchKernel", nullptr, 5});  // 77 is an unknown launch
    injection::launch(3);
    return 0;
  });
  CHECK(source.launches == 3);
  CHECK(source.counts[GPUPROF_COUNT_FAILED] == 1);
  CHECK(source.counts[GPUPROF_COUNT_CAPTURED] == 1);
  REQUIRE(source.host_ops.size() == 1);
  CHECK(source.host_ops[0].op == GPUPROF_HOST_FAILED);
  CHECK(source.host_ops[0].correlation == 1);
  CHECK(source.names.at(source.host_ops[0].name_id) == "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1)");
}

TEST_CASE("a launch with several kinds of work is marked as such") {
  const Source source = record_one({}, [] {
    injection::launch(5, true);
    injection::gpu_op(op_with(5), false);
    injection::gpu_op(op_with(5), false);
    injection::launch(6);
    injection::gpu_op(op_with(6), false);
    return 0;
  });
  REQUIRE(source.ops.size() == 3);
  CHECK(source.ops[0].flags == GPUPROF_GPU_OP_MORE);
  CHECK(source.ops[1].flags == GPUPROF_GPU_OP_MORE);
  CHECK(source.ops[2].flags == 0);
}

TEST_CASE("outside of the wanted range nothing is recorded, and the work is counted") {
  FakeRecorder::Options options;
  options.control |= GPUPROF_CONTROL_LAUNCH_RECORDS;
  strcpy(options.wanted.nvtx_range, "step");
  constexpr uint64_t kHost = GPUPROF_CORRELATION_HOST | 1;
  const Source source = record_one(options, [&] {
    gpuprof_host_op wait = {};
    wait.correlation = kHost;
    injection::launch(1);
    injection::call_failed(1, {"cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE", 1});
    injection::gpu_op(op_with(1), false);
    injection::stack_here(kHost);
    injection::host_op(wait);
    injection::stack_here(GPUPROF_CORRELATION_NODE | 7);  // a launch inside of the range may later run this graph node
    gpuprof_call call = {};
    call.correlation = 1;
    injection::call(call);
    return std::string(injection::options()->nvtx_range) == "step" ? 0 : 1;
  });
  CHECK(source.launches == 0);
  CHECK(source.ops.empty());
  CHECK(source.host_ops.empty());
  CHECK(source.calls.empty());
  CHECK(source.counts[GPUPROF_COUNT_OUTSIDE] == 1);
  CHECK(source.counts[GPUPROF_COUNT_FAILED] == 0);
  REQUIRE(source.launch_records.size() == 1);
  CHECK(source.launch_records[0].correlation == (GPUPROF_CORRELATION_NODE | 7));
}

TEST_CASE("waits, nodes and calls arrive unchanged") {
  const Source source = record_one({}, [] {
    gpuprof_host_op wait = {};
    wait.correlation = GPUPROF_CORRELATION_HOST | 3;
    wait.start_ns = 10;
    wait.end_ns = 20;
    wait.name_id = injection::name_id("cuCtxSynchronize");
    wait.tid = injection::thread_id();
    injection::host_op(wait);
    gpuprof_graph_node node = {};
    node.node = 8;
    node.original = 7;
    injection::graph_node(node);
    injection::launch(4);
    gpuprof_call call = {};
    call.correlation = 4;
    call.end_ns = 9;
    injection::call(call);
    return injection::control() == GPUPROF_CONTROL_ENABLED ? 0 : 1;
  });
  REQUIRE(source.host_ops.size() == 1);
  CHECK(source.host_ops[0].correlation == (GPUPROF_CORRELATION_HOST | 3));
  CHECK(source.host_ops[0].end_ns == 20);
  CHECK(source.names.at(source.host_ops[0].name_id) == "cuCtxSynchronize");
  CHECK(source.host_ops[0].tid == static_cast<uint32_t>(source.pid));
  REQUIRE(source.graph_nodes.size() == 1);
  CHECK(source.graph_nodes[0].original == 7);
  REQUIRE(source.calls.size() == 1);
  CHECK(source.calls[0].end_ns == 9);
}

TEST_CASE("an attached process receives the address of the recorder") {
  FakeRecorder recorder;
  const Environment environment = recorder.environment();
  const pid_t pid = fork_child({}, [&] {
    const bool on =
        !injection::start_attached("test",
                                   "too long a name to be one of a socket, which has room for a "
                                   "hundred and seven characters and not for one more of them",
                                   environment[1].second.c_str(), geteuid()) &&
        injection::start_attached("test", environment[0].second.c_str(), environment[1].second.c_str(), geteuid());
    injection::launch(1);
    const pid_t child = fork();  // the child also knows the recorder's address
    if (child == 0) {
      const bool childs = injection::active();
      injection::launch(2);
      _exit(childs ? 0 : 1);
    }
    return on && wait_for(child) == 0 ? 0 : 1;
  });
  recorder.start();
  CHECK(wait_for(pid) == 0);
  recorder.stop();
  REQUIRE(recorder.sources().size() == 2);
  CHECK(recorder.sources()[0].launches == 1);
  CHECK(recorder.sources()[1].launches == 1);
}

TEST_CASE("a child of a raw fork system call is not mistaken for its parent") {
  int status = -1;
  const std::vector<Source> sources = record(
      {},
      [] {
        injection::launch(1);
        const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        if (child == 0) {
          injection::launch(2);
          injection::gpu_op(op_with(2), false);
          const bool noticed = !injection::active();
          _exit(noticed ? 0 : 1);
        }
        return wait_for(child);
      },
      &status);
  CHECK(status == 0);
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].launches == 1);
  CHECK(sources[0].ops.empty());
}

TEST_CASE("a paused recorder makes the library inactive") {
  FakeRecorder::Options options;
  options.control = 0;
  record_one(options, [] { return injection::active() ? 1 : 0; });
}

TEST_CASE("a name is sent once, and equal names have equal ids") {
  const Source source = record_one({}, [] {
    std::set<uint32_t> ids;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 5000; ++i) {
        ids.insert(injection::name_id(("kernel_" + std::to_string(i)).c_str()));
      }
    }
    const std::string with_nul("a\0b", 3);
    const bool apart = injection::name_id(with_nul.data(), 3) != injection::name_id("a");
    return ids.size() == 5000 && ids.count(0) == 0 && apart && injection::name_id("") == 0 ? 0 : 1;
  });
  CHECK(source.names.size() == 5002);
  CHECK(source.all_lost() == 0);
  CHECK(std::any_of(source.names.begin(), source.names.end(),
                    [](const auto& name) { return name.second == std::string("a\0b", 3); }));
}

TEST_CASE("a long name is cut between characters") {
  const std::string fits(GPUPROF_WIRE_MAX_TEXT, 'x');
  std::string too_long;
  while (too_long.size() <= GPUPROF_WIRE_MAX_TEXT) {
    too_long += "\xE2\x82\xAC";  // a character of three bytes; the limit is not a multiple of 3
  }
  const Source source = record_one({}, [&] {
    const bool named = injection::name_id(fits.c_str()) == 1 && injection::name_id(too_long.c_str()) == 2 &&
                       injection::name_id(too_long.c_str()) == 2;
    return named ? 0 : 1;
  });
  CHECK(source.names.at(1) == fits);
  const std::string& cut = source.names.at(2);
  CHECK(cut.size() <= GPUPROF_WIRE_MAX_TEXT);
  CHECK(cut.size() > GPUPROF_WIRE_MAX_TEXT - 4);
  CHECK(cut.substr(cut.size() - 3) == "...");
  CHECK((cut.size() - 3) % 3 == 0);
  CHECK(injection::cut_length(fits.data(), fits.size()) == fits.size());
}

TEST_CASE("a forked child is a separate source") {
  int status = -1;
  const std::vector<Source> sources = record(
      {},
      [] {
        injection::on_fork_child([] { setenv("GPUPROF_TEST_FORKED", "1", 1); });
        gpuprof_gpu_op op = op_with(1);
        op.name_id = injection::name_id("shared name");
        injection::launch(1);
        injection::gpu_op(op, false);
        const uint32_t parents_source = injection::source();
        const pid_t pid = fork();
        if (pid == 0) {
          const bool called = getenv("GPUPROF_TEST_FORKED") != nullptr;
          const bool on = injection::active() && injection::source() != parents_source;
          gpuprof_gpu_op childs = op_with(2);
          childs.name_id = injection::name_id("shared name");
          injection::launch(2);
          injection::gpu_op(childs, false);
          _exit(called && on ? 0 : 1);
        }
        const int child_status = wait_for(pid);
        const pid_t idle = fork();
        if (idle == 0) {
          _exit(0);  // launches nothing, so the child never connects
        }
        injection::launch(3);
        return child_status == 0 && wait_for(idle) == 0 && injection::source() == parents_source ? 0 : 1;
      },
      &status);
  REQUIRE(status == 0);
  REQUIRE(sources.size() == 2);
  CHECK(sources[0].pid != sources[1].pid);
  CHECK(sources[0].launches == 2);
  CHECK(sources[1].launches == 1);
  REQUIRE(sources[0].ops.size() == 1);
  REQUIRE(sources[1].ops.size() == 1);
  CHECK(sources[0].name_of(sources[0].ops[0]) == "shared name");
  CHECK(sources[1].name_of(sources[1].ops[0]) == "shared name");
}

TEST_CASE("records written before a kill are not lost") {
  int status = -1;
  const std::vector<Source> sources = record(
      {},
      [] {
        for (uint64_t i = 1; i <= 100; ++i) {
          injection::gpu_op(op_with(i), false);
        }
        raise(SIGKILL);
        return 0;
      },
      &status);
  CHECK(WIFSIGNALED(status));
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].ops.size() == 100);
  CHECK(sources[0].state == GPUPROF_STATE_ACTIVE);
}

TEST_CASE("a disabled library sends the reason") {
  const Source source = record_one({}, [] {
    injection::disable("another subscriber");
    injection::gpu_op(op_with(1), false);
    return injection::active() ? 1 : 0;
  });
  CHECK(source.state == GPUPROF_STATE_DISABLED);
  CHECK(source.reason == "another subscriber");
  CHECK(source.ops.empty());
}

TEST_CASE("a guard is entered once per thread") {
  const injection::Guard outer;
  CHECK(outer.entered());
  {
    const injection::Guard inner;
    CHECK_FALSE(inner.entered());
  }
  const injection::Guard second;
  CHECK_FALSE(second.entered());
  bool other = false;
  std::thread([&] { other = injection::Guard().entered(); }).join();
  CHECK(other);
}

TEST_CASE("the library preserves errno of the target") {
  errno = ENOTTY;
  {
    const injection::Guard guard;
    errno = EINTR;
  }
  CHECK(errno == ENOTTY);
  int status = -1;
  record(
      {},
      [] {
        injection::on_fork_child([] { errno = EINTR; });
        errno = ENOTTY;
        const pid_t pid = fork();
        if (pid == 0) {
          _exit(errno == ENOTTY ? 0 : 1);
        }
        return wait_for(pid) == 0 ? 0 : 1;
      },
      &status);
  CHECK(status == 0);
}

TEST_CASE("fork handlers run after the end of the recording, too") {
  int status = -1;
  record(
      {},
      [] {
        injection::on_fork_child([] { setenv("GPUPROF_TEST_FORKED", "1", 1); });
        injection::finish();
        const pid_t pid = fork();
        if (pid == 0) {
          _exit(getenv("GPUPROF_TEST_FORKED") != nullptr ? 0 : 1);
        }
        return wait_for(pid) == 0 ? 0 : 1;
      },
      &status);
  CHECK(status == 0);
}

TEST_CASE("a single long wait is clamped in the overhead") {
  const Source source = record_one({}, [] {
    injection::add_overhead(1000000000);
    injection::add_overhead(1000);
    return 0;
  });
  CHECK(source.overhead_ns == 101000);
}

TEST_CASE("a recorder is silent if its last sign of life is too old") {
  FakeRecorder::Options options;
  SECTION("the recorder is alive") {
    record_one(options, [] { return injection::recorder_silent() ? 1 : 0; });
  }
  SECTION("the recorder is gone") {
    options.beat = false;
    record_one(options, [] { return injection::recorder_silent() ? 0 : 1; });
  }
}

TEST_CASE("waiting for a lock that is never released takes bounded time, even on a busy machine") {
  std::atomic<bool> stop{false};
  std::vector<std::thread> spinners;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    spinners.emplace_back([&] {
      while (!stop) {
      }
    });
  }
  uint32_t lock = 1;
  constexpr uint64_t kBoundNs = 200000000;
  uint64_t waited = UINT64_MAX;
  for (int i = 0; i < 10 && waited >= kBoundNs; ++i) {  // retries, as other processes may take the CPU away
    const uint64_t begin = injection::now_ns();
    CHECK_FALSE(injection::try_lock_bounded(&lock));
    waited = injection::now_ns() - begin;
  }
  stop = true;
  for (std::thread& spinner : spinners) {
    spinner.join();
  }
  CHECK(waited < kBoundNs);
  CHECK(lock == 1);
}

TEST_CASE("the launch probe starts with the nop that the kernel can patch") {
  const auto* code = reinterpret_cast<const unsigned char*>(&gpuprof_launch_probe);
  CHECK(std::equal(std::begin(gpuprof::test::kProbeNop), std::end(gpuprof::test::kProbeNop), code));
  CHECK(reinterpret_cast<uintptr_t>(code) % 64 == 0);  // aligned, so the nop does not cross a page boundary
}
