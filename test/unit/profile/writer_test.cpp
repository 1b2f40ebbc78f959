// Checks the exact bytes of every kind of record. FORMAT.md is the specification.
#include "profile/writer.h"

#include <fcntl.h>

#include "catch.h"
#include "text_input.h"

using namespace gpuprof;
using namespace gpuprof::profile;

namespace {
std::string line(const Record& record) {
  std::string out;
  format_line(record, out);
  return out;
}
}  // namespace

TEST_CASE("the first line has the format version") {
  std::string out;
  format_header(out);
  CHECK(out == "GPUPROF;3.6\n");
}

TEST_CASE("definitions are written as FORMAT.md says") {
  CHECK(line(Meta{"command", "./app -n 3"}) == "META;command;./app -n 3\n");
  CHECK(line(String{StringId{1}, "main"}) == "STRING;1;main\n");
  CHECK(line(String{StringId{2}, ""}) == "STRING;2;\n");
  CHECK(line(Frame{.id = FrameId{3},
                   .kind = FrameKind::inlined,
                   .name = StringId{1},
                   .file = StringId{2},
                   .line = 42,
                   .module = StringId{4},
                   .build_id = StringId{5},
                   .address = 0x12ab}) == "FRAME;3;inlined;1;2;42;4;5;0x12ab\n");
  CHECK(line(Process{ProcessId{1}, 100, 99, 12345, StringId{1}, StringId{2}, StringId{3}, StringId{4}}) ==
        "PROCESS;1;100;99;12345;1;2;3;4\n");
  CHECK(line(Device{DeviceId{1}, StringId{2}, 0, StringId{3}, StringId{4}}) == "DEVICE;1;2;0;3;4\n");
  CHECK(line(Range{RangeId{4294967295U}, RangeId{2}, StringId{3}, StringId{4}}) == "RANGE;4294967295;2;3;4\n");
  CHECK(line(Work{.id = WorkId{1},
                  .process = ProcessId{2},
                  .tid = 3,
                  .thread = StringId{4},
                  .ustack = StackId{5},
                  .kstack = StackId{6},
                  .capture = StackId{7},
                  .range = RangeId{8},
                  .device = DeviceId{9},
                  .stream = 18446744073709551615U,
                  .op = Op::copy_htod,
                  .name = StringId{11},
                  .flags = kWorkGraphNode | kWorkUnsampled}) ==
        "WORK;1;2;3;4;5;6;7;8;9;18446744073709551615;copy_htod;11;3\n");
  CHECK(line(GpuModule{GpuModuleId{1}, StringId{2}, StringId{3}}) == "GPU_MODULE;1;2;3\n");
  const FrameId lines[] = {FrameId{7}, FrameId{8}};
  CHECK(line(GpuPlace{GpuPlaceId{1}, GpuModuleId{2}, StringId{3}, 0x40, StringId{4}, lines}) ==
        "GPU_PLACE;1;2;3;0x40;4;7;8\n");
  CHECK(line(GpuPlace{.id = GpuPlaceId{1}}) == "GPU_PLACE;1;0;0;0x0;0\n");
  CHECK(line(GpuInstruction{GpuPlaceId{1}, StringId{2}, GpuPlaceId{3}, StringId{4}}) == "GPU_INSTRUCTION;1;2;3;4\n");
  CHECK(line(Sampling{SamplingId{1}, 2, StringId{3}}) == "SAMPLING;1;2;3\n");
}

TEST_CASE("stacks are written as FORMAT.md says") {
  const StackElement frames[] = {{.frame = FrameId{3}}, {.frame = FrameId{4294967295U}}};
  CHECK(line(Stack{false, StackId{1}, frames}) == "USTACK;1;3;4294967295\n");
  const StackElement mixed[] = {{.address = 0xffffffff81000000U, .is_address = true},
                                {.text = "do_syscall_64"},
                                {.text = "123"},
                                {.text = "0x12 looks like an address"},
                                {.text = "a;b"}};
  CHECK(line(Stack{true, StackId{2}, mixed}) ==
        "KSTACK;2;0xffffffff81000000;do_syscall_64;\\x3123;\\x30x12 looks like an address;a\\x3bb\n");
  CHECK(line(Stack{false, StackId{9}, {}}) == "USTACK;9\n");
}

TEST_CASE("measurements are written as FORMAT.md says") {
  CHECK(line(Gpu{.slice = 1,
                 .work = WorkId{2},
                 .count = 2,
                 .sum_ns = 300,
                 .min_ns = 100,
                 .max_ns = 200,
                 .sum_squares_ns2 = (Uint128{1} << 127U) | 5U,
                 .queue_ns = 9,
                 .bytes = 18446744073709551615U}) ==
        "GPU;1;2;2;300;100;200;170141183460469231731687303715884105733;9;18446744073709551615\n");
  CHECK(line(Host{1, WorkId{2}, 3, 4, 5, 6, 7}) == "HOST;1;2;3;4;5;6;7\n");
  CHECK(line(Launch{1, WorkId{2}, 3}) == "LAUNCH;1;2;3\n");
  CHECK(line(Share{1, WorkId{2}, 3, 4}) == "SHARE;1;2;3;4\n");
  CHECK(line(Idle{1, DeviceId{2}, WorkId{3}, 4}) == "IDLE;1;2;3;4\n");
  CHECK(line(Window{1, 2}) == "WINDOW;1;2\n");
  CHECK(line(Window{1, 2, 30}) == "WINDOW;1;2;30\n");
  CHECK(line(EuStall{1, WorkId{2}, GpuPlaceId{3}, StringId{4}, SamplingId{5}, 6, kSampleEstimated}) ==
        "EUSTALL;1;2;3;4;5;6;1\n");
  CHECK(line(Loss{ProcessId{1}, "ring_full", 12}) == "LOSS;1;ring_full;12\n");
  CHECK(line(Coverage{ProcessId{1}, "matched", 12}) == "COVERAGE;1;matched;12\n");
  CHECK(line(End{1, 2, 3, 4, 5, 6, 7}) == "END;1;2;3;4;5;6;7\n");
  CHECK(line(Unknown{"NEW"}).empty());
}

TEST_CASE("histograms and timeline records are written as FORMAT.md says") {
  const Latency::Bucket buckets[] = {{7, 2}, {495, 1}};
  CHECK(line(Latency{WorkId{1}, Phase::submitted_to_start, 3, 4, 5, 6, buckets}) ==
        "LATENCY;1;submitted_to_start;3;4;5;6;7;2;495;1\n");
  CHECK(line(Latency{.work = WorkId{1}, .phase = Phase::call_to_start}) == "LATENCY;1;call_to_start;0;0;0;0\n");
  const Blocks::Bucket blocks[] = {{7, 2}, {3775, 1}};
  CHECK(line(Blocks{1, WorkId{2}, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, blocks}) ==
        "BLOCKS;1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;7;2;3775;1\n");
  CHECK(line(Event{WorkId{1}, 2, 3, 4, 5, 6, 7}) == "EVENT;1;2;3;4;5;6;7\n");
  CHECK(line(Call{ProcessId{1}, 2, StackId{3}, StringId{4}, 5, 6, 7}) == "CALL;1;2;3;4;5;6;7\n");
  CHECK(line(Span{ProcessId{1}, 2, RangeId{3}, 4, 5}) == "SPAN;1;2;3;4;5\n");
}

TEST_CASE("the words of every enumerator can be read back") {
  for (const char* kind : {"native", "inlined", "kernel", "python", "interpreter", "gpu", "unknown", "truncated"}) {
    const std::string text = std::string("GPUPROF;3.6\nFRAME;1;") + kind + ";0;0;0;0;0;0x0\n";
    CHECK(test::rewritten(text) == text);
  }
  for (const char* op :
       {"kernel", "copy_htod", "copy_dtoh", "copy_dtod", "copy_htoh", "copy_ptop", "copy", "fill", "other", "graph",
        "launch", "sync", "alloc", "free", "fault_gpu", "fault_cpu", "migrate_htod", "migrate_dtoh"}) {
    const std::string text = std::string("GPUPROF;3.6\nWORK;1;0;0;0;0;0;0;0;0;0;") + op + ";0;0\n";
    CHECK(test::rewritten(text) == text);
  }
  for (const char* phase : {"call_to_queued", "queued_to_submitted", "submitted_to_start", "call_to_start"}) {
    const std::string text = std::string("GPUPROF;3.6\nLATENCY;1;") + phase + ";1;5;5;5;5;1\n";
    CHECK(test::rewritten(text) == text);
  }
}

TEST_CASE("a writer writes complete lines and keeps its first error") {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const UniqueFd in(ends[0]);
  Writer writer{UniqueFd(ends[1])};
  writer.header();
  writer.add(String{StringId{1}, "x"});
  CHECK(writer.bytes_written() == 0);
  REQUIRE(writer.flush());
  const std::string expected = "GPUPROF;3.6\nSTRING;1;x\n";
  CHECK(writer.bytes_written() == expected.size());
  char text[64] = {};
  REQUIRE(::read(in.get(), text, sizeof text) == static_cast<ssize_t>(expected.size()));
  CHECK(std::string(text) == expected);
}

TEST_CASE("a full disk is an error on every later call") {
  Writer writer{UniqueFd(::open("/dev/full", O_WRONLY | O_CLOEXEC))};
  writer.header();
  const Status first = writer.flush();
  REQUIRE_FALSE(first);
  CHECK(first.error().message == "cannot write the profile: No space left on device");
  CHECK_FALSE(writer.flush());
}
