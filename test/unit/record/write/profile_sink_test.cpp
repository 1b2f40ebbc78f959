
#include "record/write/profile_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "catch.h"
#include "join_rig.h"

using gpuprof::UniqueFd;
using gpuprof::backend::GpuOp;
using gpuprof::record::ProfileSink;
using gpuprof::test::fake_now_ns;
using gpuprof::test::kPid;
using gpuprof::test::Rig;

namespace {

__attribute__((noinline)) void some_function() {
  asm volatile("nop; nop; nop; nop");
}

__attribute__((noinline)) void another_function() {
  asm volatile("nop; nop; nop; nop; nop");
}

class ProfileFile {
 public:
  ProfileFile() : fd_(::mkostemp(path_, O_CLOEXEC)) { REQUIRE(fd_); }
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;
  ~ProfileFile() { ::unlink(path_); }
  UniqueFd take() { return std::move(fd_); }
  [[nodiscard]] std::vector<std::string> lines(const std::string& kind) const {
    std::vector<std::string> found;
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(kind + ";")) {
        found.push_back(line.substr(kind.size() + 1));
      }
    }
    return found;
  }

 private:
  char path_[32] = "/tmp/gpuprof-sink-XXXXXX";
  UniqueFd fd_;
};

size_t fields(const std::string& line) {
  return 1 + static_cast<size_t>(std::count(line.begin(), line.end(), ';'));
}

}  // namespace

TEST_CASE("the kernel part of a stack is a KSTACK, which stacks may share") {
  ProfileFile file;
  ProfileSink sink(file.take(), {});
  Rig rig({.attach_pid = kPid});
  rig.correlator.on_traits(1, {.walks_stacks = true});
  const uint64_t one[] = {reinterpret_cast<uint64_t>(&some_function) + 1};
  const uint64_t other[] = {reinterpret_cast<uint64_t>(&another_function) + 1};
  const uint64_t kernel[] = {0xffffffff81000100};
  rig.correlator.on_stack(1, {.id = 7, .words = one, .flags = 0, .modules = {}, .kernel = kernel});
  rig.correlator.on_stack(1, {.id = 8, .words = other, .flags = 0, .modules = {}, .kernel = kernel});
  rig.correlator.on_stack(1, {.id = 9, .words = one, .flags = 0, .modules = {}});
  for (uint64_t launch = 1; launch <= 3; ++launch) {
    rig.correlator.on_launch(1, {.correlation = launch, .stack = launch + 6, .time_ns = 5000, .tid = 42});
    rig.correlator.on_gpu_op(Rig::kernel(launch));
  }
  rig.correlator.end_iteration();
  sink.put(rig.take());
  REQUIRE(sink.finish().ok());
  CHECK(file.lines("KSTACK").size() == 1);
  std::multiset<std::string> stacks;  // the stack fields of all WORK lines
  for (const std::string& line : file.lines("WORK")) {
    std::vector<std::string> row;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ';');) {
      row.push_back(field);
    }
    stacks.insert(row.at(4) + " " + row.at(5));
  }
  CHECK(stacks == std::multiset<std::string>{"1 0", "1 1", "2 1"});
}

TEST_CASE("each measurement becomes lines that refer to one WORK") {
  ProfileFile file;
  ProfileSink sink(file.take(), {});
  Rig rig({.attach_pid = kPid, .timeline = true, .latency = true});
  const uint64_t code[] = {reinterpret_cast<uint64_t>(&some_function) + 1};
  rig.correlator.on_stack(77, kPid, code, 0, 0);
  const uint64_t capturing_code[] = {reinterpret_cast<uint64_t>(&another_function) + 1};
  rig.correlator.on_stack(88, kPid, capturing_code, GPUPROF_STACK_TRUNCATED, 0);
  rig.correlator.on_name(1, 3, "st;ep");
  rig.correlator.on_range(1, {.id = 4, .name_id = 3});
  rig.launch(1, 77, 5000, 4);
  const gpuprof::profile::Blocks::Bucket bucket{10, 2};
  rig.correlator.on_blocks(1, {.launches = 1, .grid = 2, .blocks = 2, .correlation = 1, .buckets = {&bucket, 1}});
  GpuOp op = Rig::kernel(1);
  op.queued_ns = 6000;
  rig.correlator.on_gpu_op(op);
  rig.launch(GPUPROF_CORRELATION_NODE | 9, 88);
  rig.correlator.on_graph_node(1, {.node = 9});
  rig.launch(2, 77);
  op = Rig::kernel(2);
  op.graph_node = 9;
  rig.correlator.on_gpu_op(op);
  rig.launch(GPUPROF_CORRELATION_HOST | 9, 77);
  rig.correlator.on_host_op({.source = 1,
                             .correlation = GPUPROF_CORRELATION_HOST | 9,
                             .start_ns = 20'000,
                             .end_ns = 21'000,
                             .count = 1,
                             .name_id = 2,
                             .tid = 5,
                             .op = GPUPROF_HOST_SYNC});
  rig.correlator.on_counted_launch(0, {.stack = 77, .time_ns = 5000, .pid = kPid, .tid = 5});
  rig.correlator.on_call(1, {.correlation = 1, .start_ns = 4990, .end_ns = 5010, .name_id = 2, .tid = 5});
  rig.correlator.on_span(1, {.start_ns = 4000, .end_ns = 6000, .range = 4, .tid = 5});
  gpuprof::backend::Counters counters;
  counters.launches = 2;
  rig.correlator.on_counters(1, counters);
  rig.correlator.close_window(fake_now_ns);
  rig.correlator.finish();
  sink.put(rig.take());
  REQUIRE(sink.finish().ok());

  CHECK(file.lines("WORK").size() == 4);
  CHECK(file.lines("GPU").size() == 2);
  CHECK(file.lines("HOST").size() == 1);
  CHECK(file.lines("LAUNCH").size() == 1);
  CHECK(file.lines("SHARE").size() == 2);
  CHECK_FALSE(file.lines("IDLE").empty());
  CHECK(file.lines("WINDOW") == std::vector<std::string>{"1000;" + std::to_string(fake_now_ns)});
  CHECK(file.lines("LATENCY").size() == 2);
  REQUIRE(file.lines("BLOCKS").size() == 1);
  CHECK(file.lines("BLOCKS")[0].ends_with(";1;2;2;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1;10;2"));
  CHECK(file.lines("EVENT").size() == 3);
  CHECK(file.lines("CALL").size() == 1);
  CHECK(file.lines("SPAN").size() == 1);
  CHECK(file.lines("RANGE").size() == 1);
  CHECK(file.lines("USTACK").size() == 2);
  CHECK(file.lines("COVERAGE").size() == 3);
  size_t captured = 0;
  for (const std::string& line : file.lines("WORK")) {
    CHECK(fields(line) == 13);
    captured += line.ends_with(";5") ? 1 : 0;
  }
  CHECK(captured == 1);
  for (const std::string& line : file.lines("PROCESS")) {
    CHECK(fields(line) == 8);
  }
  for (const std::string& line : file.lines("DEVICE")) {
    CHECK(fields(line) == 5);
  }
}

TEST_CASE("samples are written after the code that they refer to") {
  ProfileFile file;
  ProfileSink sink(file.take(), {});
  Rig rig;
  rig.correlator.on_traits(1, {.takes_samples = true});
  rig.correlator.on_gpu_module(1, {.id = 1, .name = "a.cubin", .hash = "c0ffee"});
  const gpuprof::backend::GpuFrame lines[] = {{"_Z1kv", "a.cu", 12}, {"inlined", "b.h", 5}};
  rig.correlator.on_gpu_place(
      1, {.id = 2, .module = 1, .function = "_Z1kv", .offset = 64, .instruction = "FADD; R1", .frames = lines});
  rig.launch(1, 0);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.correlator.on_sample({.source = 1,
                            .correlation = 1,
                            .time_ns = 10'000,
                            .count = 3,
                            .period = 512,
                            .reason = "wait",
                            .name_id = 1,
                            .place = 2,
                            .device = 0,
                            .estimated = true});
  sink.put(rig.take());
  REQUIRE(sink.finish().ok());
  std::map<std::string, std::string> text;
  for (const std::string& line : file.lines("STRING")) {
    text[line.substr(0, line.find(';'))] = line.substr(line.find(';') + 1);
  }
  const auto id = [&](const std::string& wanted) {
    const auto found = std::find_if(text.begin(), text.end(), [&](const auto& one) { return one.second == wanted; });
    return found == text.end() ? "none" : found->first;
  };
  using Lines = std::vector<std::string>;
  const std::string code = id("a.cubin") + ";" + id("c0ffee");
  CHECK(file.lines("GPU_MODULE") == Lines{"1;" + code});
  CHECK(file.lines("FRAME") == Lines{"1;gpu;" + id("k()") + ";" + id("a.cu") + ";12;" + code + ";0x0",
                                     "2;gpu;" + id("inlined") + ";" + id("b.h") + ";5;" + code + ";0x0"});
  CHECK(file.lines("GPU_PLACE") == Lines{"1;1;" + id("k()") + ";0x40;" + id("FADD\\x3b R1") + ";1;2"});
  CHECK(file.lines("SAMPLING") == Lines{"1;512;" + id("cycles")});
  CHECK(file.lines("EUSTALL") == Lines{"0;1;1;" + id("wait") + ";1;3;1"});
  CHECK(file.lines("WORK").size() == 1);  // the sample refers to its launch's WORK
}

TEST_CASE("a stack with only frames of the injection library counts as without a stack") {
  ProfileFile file;
  ProfileSink sink(file.take(), gpuprof::record::ProfilerLibraries({program_invocation_short_name}));
  Rig rig;
  const uint64_t code[] = {reinterpret_cast<uint64_t>(&some_function) + 1};
  rig.correlator.on_stack(77, kPid, code, 0, 0);
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  auto batch = rig.take();
  batch.end = gpuprof::profile::End{1, 1, 1, 10, 1, 0};
  sink.put(std::move(batch));
  REQUIRE(sink.finish().ok());
  CHECK(sink.without_frames() == 1);
  REQUIRE(file.lines("COVERAGE").size() == 1);
  CHECK(file.lines("COVERAGE").front() == "0;without_stack;1");
  CHECK(file.lines("END").front() == "1;1;1;10;0;0;0");
}

TEST_CASE("data that exceed the writer's memory are reported and counted as lost") {
  ProfileFile file;
  const auto memory =
      std::make_shared<gpuprof::record::MemoryBudget>([] { return gpuprof::record::MemoryBudget::kLimit; });
  ProfileSink sink(file.take(), {}, memory);
  Rig rig;
  const uint64_t code[] = {reinterpret_cast<uint64_t>(&some_function) + 1};
  rig.correlator.on_stack(77, kPid, code, 0, 0);
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.correlator.close_window(fake_now_ns);
  rig.correlator.finish();
  sink.put(rig.take());
  gpuprof::record::Batch last;
  last.end =
      gpuprof::profile::End{.end_ns = 1, .launches = 1, .gpu_records = 1, .gpu_ns = 10, .with_stack = 1, .lost = 0};
  sink.put(std::move(last));
  REQUIRE(sink.finish().ok());
  CHECK(sink.stacks() == 0);
  CHECK(file.lines("USTACK").empty());
  REQUIRE(file.lines("STRING").size() == 1);
  CHECK(file.lines("STRING")[0].ends_with(";[more names]"));
  CHECK(file.lines("GPU").size() == 1);
  const auto losses = file.lines("LOSS");
  REQUIRE(losses.size() == 1);
  CHECK(losses[0] == "0;memory_limit;" + std::to_string(memory->left_out()));
  REQUIRE(file.lines("END").size() == 1);
  CHECK(file.lines("END")[0] == "1;1;1;10;0;0;" + std::to_string(memory->left_out()));
}

TEST_CASE("the sink measures the longest kernel, wait and range") {
  namespace profile = gpuprof::profile;
  using gpuprof::record::Batch;
  ProfileFile file;
  ProfileSink sink(file.take(), {}, std::make_shared<gpuprof::record::MemoryBudget>(), nullptr, {}, {nullptr, "step"});
  Batch batch;
  batch.names = {{1, "step"}, {2, "other"}};
  batch.ranges = {{.id = profile::RangeId{1}, .name = profile::StringId{1}},
                  {.id = profile::RangeId{2}, .name = profile::StringId{2}}};
  batch.spans = {{.range = profile::RangeId{1}, .start_ns = 10, .end_ns = 40},
                 {.range = profile::RangeId{2}, .start_ns = 10, .end_ns = 90}};
  gpuprof::record::NewWork kernel{.id = profile::WorkId{1}};
  kernel.key.op = profile::Op::kernel;
  gpuprof::record::NewWork wait{.id = profile::WorkId{2}};
  wait.key.op = profile::Op::sync;
  batch.works = {kernel, wait};
  const auto add = [&batch](uint32_t work, uint64_t longest) {
    gpuprof::record::RowValue value;
    value.count = 1;
    value.max_ns = longest;
    batch.rows.push_back({{.slice = 0, .work = profile::WorkId{work}}, value});
  };
  add(1, 7);
  add(1, 5);
  add(2, 9);
  sink.put(std::move(batch));
  CHECK(sink.finish());
  const auto longest = sink.take_longest();
  CHECK(longest.kernel_ns == 7);
  CHECK(longest.wait_ns == 9);
  CHECK(longest.range_ns == 30);
  CHECK(sink.take_longest().kernel_ns == 0);
}
