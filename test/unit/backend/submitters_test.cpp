#include "backend/drm/submitters.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catch.h"
#include "wire/wire.h"

using namespace gpuprof::backend;
using namespace gpuprof::backend::drm;

namespace {

struct Sink final : EventSink {
  void on_process(uint32_t pid, const std::shared_ptr<gpuprof::ProcessGuard>& guard) override { guards[pid] = guard; }
  void on_source(SourceId source, uint32_t pid, std::string_view) override { sources.emplace_back(source, pid); }
  void on_name(SourceId, uint32_t, std::string_view text) override { names.emplace_back(text); }
  void on_device(SourceId, uint32_t, uint32_t, uint32_t) override {}
  void on_gpu_op(const GpuOp&) override {}
  void on_launch(SourceId source, const LaunchCall& launch) override { launches.emplace_back(source, launch.tid); }
  void on_host_op(const HostOp&) override {}
  void on_graph_node(SourceId, const GraphNode&) override {}
  void on_graph_launch(SourceId, const GraphLaunch&) override {}
  void on_range(SourceId, const Range&) override {}
  void on_call(SourceId, const Call&) override {}
  void on_span(SourceId, const Span&) override {}
  void on_meta(SourceId, std::string_view text) override { metas.emplace_back(text); }
  void on_stack(SourceId, const Stack& stack) override { read_ns.push_back(stack.read_ns); }
  void on_module(SourceId, const Module&) override {}
  void on_mappings(SourceId source) override { remapped.push_back(source); }
  void on_code(SourceId, const PythonCode&) override {}
  void on_python(SourceId, const gpuprof_python_layout&) override {}
  void on_counters(SourceId, const Counters& all) override { counters = all; }
  void on_traits(SourceId, const SourceTraits&) override {}
  void on_gpu_module(SourceId, const GpuModule&) override {}
  void on_gpu_place(SourceId, const GpuPlace&) override {}
  void on_sample(const Sample&) override {}
  void on_samples_dropped(SourceId, uint64_t) override {}
  void on_location_samples(SourceId, const LocationSamples&) override {}
  void on_sample_window(SourceId, const SampleWindow&) override {}
  void on_source_end(SourceId source) override { ended.push_back(source); }

  std::map<uint32_t, std::shared_ptr<gpuprof::ProcessGuard>> guards;
  std::vector<std::pair<SourceId, uint32_t>> sources;   // (source, pid)
  std::vector<std::pair<SourceId, uint32_t>> launches;  // (source, thread id)
  std::vector<std::string> names;
  std::vector<std::string> metas;
  std::vector<SourceId> ended;
  std::vector<SourceId> remapped;
  std::vector<uint64_t> read_ns;
  Counters counters;
};

struct Fixture {
  Sink sink;
  bool admits = true;
  SourceIds ids{[this] { return admits; }};
  gpuprof::backend::SamplingOptions sampling;
  Submitters submitters{{.sink = sink, .ids = ids, .root = 1, .sampling = sampling}, "drm", "/nonexistent"};
};

gpuprof_drm_queued queued(uint32_t pid, uint32_t tid, uint64_t image, const char* driver = "xe",
                          const char* ring = "ccs7") {
  gpuprof_drm_queued made{};
  made.pid = pid;
  made.tid = tid;
  made.image = image;
  made.scheduler = 99;
  std::strncpy(made.driver, driver, sizeof(made.driver));
  std::strncpy(made.ring, ring, sizeof(made.ring));
  std::strncpy(made.device, "0000:03:00.0", sizeof(made.device));
  return made;
}

gpuprof_drm_queued to_queue(uint32_t queue, uint64_t file, uint32_t vm = 0, uint64_t client = 0) {
  gpuprof_drm_queued made = queued(7, 8, 1);
  made.submission.kind = GPUPROF_DRM_EXEC_QUEUE;
  made.submission.id = queue;
  made.submission.vm = vm;
  made.submission.file = file;
  made.submission.client = client;
  return made;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a process known only by its client is the process that submits by itself later") {
  const Job by_kernel = submitters.launch(queued(7, 0, 0));
  const Job by_itself = submitters.launch(queued(7, 8, 1234));
  const Job by_kernel_again = submitters.launch(queued(7, 0, 0));
  CHECK(by_kernel.source == by_itself.source);
  CHECK(by_kernel_again.source == by_itself.source);
  const Job of_another_program = submitters.launch(queued(7, 8, 5678));
  CHECK(of_another_program.source != by_itself.source);
  CHECK(sink.sources.size() == 2);
  CHECK(submitters.pid_of(by_itself.source) == 7);
}

TEST_CASE_METHOD(Fixture, "beyond the limit of processes, jobs of new processes belong to no process") {
  const Job before = submitters.launch(queued(7, 8, 1));
  admits = false;
  CHECK(submitters.launch(queued(7, 8, 1)).source == before.source);
  for (uint32_t pid = 100; pid < 200; ++pid) {
    CHECK(submitters.launch(queued(pid, pid, 1)).source == submitters.unknown_source());
  }
  CHECK(sink.sources.size() == 2);
  CHECK(sink.launches.back().second == 0);
}

TEST_CASE_METHOD(Fixture, "a process is held to the rights with which it submitted its job") {
  using State = gpuprof::ProcessGuard::State;
  const auto self = static_cast<uint32_t>(::getpid());
  gpuprof_drm_queued job = queued(self, self, 1);
  job.uid = ::geteuid();
  job.gid = ::getegid();
  submitters.launch(job);
  REQUIRE(sink.guards[self]);
  CHECK(sink.guards[self]->state() == State::same);
  // The process was another user's, and has executed a set-user-id program since then.
  job.image = 2;
  job.uid = ::geteuid() + 1;
  submitters.launch(job);
  REQUIRE(sink.guards[self]);
  CHECK(sink.guards[self]->state() == State::changed);

  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  submitters.launch(queued(static_cast<uint32_t>(child), static_cast<uint32_t>(child), 1));
  REQUIRE(sink.guards.contains(static_cast<uint32_t>(child)));
  CHECK(sink.guards[static_cast<uint32_t>(child)] == nullptr);
}

TEST_CASE_METHOD(Fixture, "a job without a thread has no stack, and its stack is not counted as lost") {
  const Job job = submitters.launch(queued(7, 0, 0));
  submitters.report_counters();
  CHECK(sink.launches == std::vector<std::pair<SourceId, uint32_t>>{{job.source, 0}});
  CHECK(sink.counters.lost[GPUPROF_LOSS_STACK] == 0);
  submitters.launch(queued(7, 8, 1));  // a job with a thread, whose stack is missing
  submitters.report_counters();
  CHECK(sink.counters.lost[GPUPROF_LOSS_STACK] == 1);
}

TEST_CASE_METHOD(Fixture, "an exec queue is a stream with its number, which the profile explains once") {
  CHECK(submitters.launch(to_queue(3, 0x1000, 5, 41)).stream == 3);
  CHECK(submitters.launch(to_queue(3, 0x1000, 5, 41)).stream == 3);
  CHECK(submitters.launch(to_queue(3, 0x2000, 0, 42)).stream == StreamNumbers::kFirstOfOthers);
  CHECK(submitters.launch(to_queue(4, 0x3000)).stream == 4);
  CHECK(sink.metas == std::vector<std::string>{"drm.device256.stream3=exec queue 3, VM 5, client 41",
                                               "drm.device256.stream1000000=exec queue 3, client 42",
                                               "drm.device256.stream4=exec queue 4"});
}

TEST_CASE_METHOD(Fixture, "an i915 context is named as one, and jobs without a context have other numbers") {
  gpuprof_drm_queued of_context = queued(7, 8, 1, "i915", "rcs0");
  of_context.submission.kind = GPUPROF_DRM_CONTEXT;  // the first context of a file has the id 0
  of_context.submission.file = 0x1000;
  CHECK(submitters.launch(of_context).stream == 0);
  CHECK(sink.metas == std::vector<std::string>{"drm.device256.stream0=context 0"});
  CHECK(submitters.launch(queued(7, 8, 1, "i915", "bcs0")).stream == StreamNumbers::kFirstOfOthers);
  CHECK(sink.metas.size() == 1);
}

TEST_CASE_METHOD(Fixture, "a ring is a stream for other drivers") {
  CHECK(submitters.launch(queued(7, 8, 1, "amdgpu", "gfx_0.0.0")).stream == 1);
  CHECK(submitters.launch(queued(7, 8, 1, "amdgpu", "sdma0")).stream == 2);
  CHECK(submitters.launch(queued(7, 8, 1, "amdgpu", "gfx_0.0.0")).stream == 1);
  CHECK(sink.metas.empty());
}

TEST_CASE_METHOD(Fixture, "launches whose stack was walked before unwind tables existed are counted") {
  const std::vector<uint64_t> words{1, 2};
  const auto come = [&](uint64_t id, uint64_t read_ns) {
    gpuprof_bpf_stack stack{};
    stack.stack = id;
    stack.pid = 7;
    stack.read_ns = read_ns;
    submitters.on_stack(stack, words, {});
  };
  const auto with_stack = [](uint64_t id) {
    gpuprof_drm_queued made = queued(7, 8, 1, "amdgpu", "gfx_0.0.0");
    made.stack = id;
    return made;
  };
  come(11, 0);
  submitters.launch(with_stack(11));
  const Job job = submitters.launch(with_stack(11));
  come(12, 1000);
  submitters.launch(with_stack(12));
  submitters.launch(with_stack(12));
  submitters.end(job.source);
  CHECK(sink.read_ns == std::vector<uint64_t>{0, 1000});
  CHECK(sink.metas == std::vector<std::string>{"drm.stacks_without_tables=2"});
}

TEST_CASE_METHOD(Fixture, "changed mappings of an unknown process are ignored") {
  submitters.on_loader(7);
  CHECK(sink.remapped.empty());
  const Job job = submitters.launch(queued(7, 8, 1));
  submitters.on_loader(7);
  submitters.on_loader(8);
  CHECK(sink.remapped == std::vector<SourceId>{job.source});
}

TEST_CASE_METHOD(Fixture, "stacks whose events were lost take limited memory") {
  const std::vector<uint64_t> words(1024, 5);
  constexpr uint64_t kMany = (size_t{1} << 21) / 1024 + 1;
  const auto with_stack = [](uint64_t id) {
    gpuprof_drm_queued made = queued(7, 8, 1);
    made.stack = id;
    return made;
  };
  const auto come = [&](uint64_t id) {
    gpuprof_bpf_stack stack{};
    stack.stack = id;
    submitters.on_stack(stack, words, {});
  };
  for (uint64_t id = 1; id <= kMany; ++id) {
    come(id);
  }
  submitters.launch(with_stack(kMany));
  CHECK(sink.read_ns.size() == 1);
  submitters.launch(with_stack(1));
  CHECK(sink.read_ns.size() == 1);
  // Stacks whose events have arrived do not count.
  for (uint64_t id = kMany + 1; id <= 3 * kMany; ++id) {
    come(id);
    submitters.launch(with_stack(id));
  }
  CHECK(sink.read_ns.size() == 1 + 2 * kMany);
  submitters.report_counters();
  CHECK(sink.counters.lost[GPUPROF_LOSS_STACK] == 1);
}

TEST_CASE_METHOD(Fixture, "the stacks and names of all processes are limited together") {
  const auto submit = [&](uint32_t pid, uint64_t id) {
    gpuprof_bpf_stack stack{};
    stack.stack = id;
    submitters.on_stack(stack, {}, {});
    gpuprof_drm_queued made = queued(pid, 8, 1);
    made.stack = id;
    return submitters.launch(made).source;
  };
  constexpr uint64_t kStacks = 524288;
  SourceId last = 0;
  for (uint64_t id = 1; id <= kStacks; ++id) {
    last = submit(id % 2 == 0 ? 7 : 9, id);
  }
  CHECK(sink.read_ns.size() == kStacks);
  submit(7, kStacks + 1);
  CHECK(sink.read_ns.size() == kStacks);
  submitters.end(last);
  submit(9, kStacks + 2);
  CHECK(sink.read_ns.size() == kStacks + 1);

  const SourceId other = submit(11, 1);
  const SourceId one = submit(9, kStacks + 2);
  uint64_t named = 0;
  while (submitters.name_id(named % 2 == 0 ? one : other, "kernel " + std::to_string(named)) != 0) {
    REQUIRE(++named < 300'000);
  }
  CHECK(named > 200'000);
  submitters.end(other);
  CHECK(submitters.name_id(one, "one more") != 0);
}
