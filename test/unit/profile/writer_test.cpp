// Exact bytes of every kind of record; FORMAT.md is the specification.
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

TEST_CASE("the first line") {
  std::string out;
  format_header(out);
  CHECK(out == "GPUPROF;1.0\n");
}

TEST_CASE("exact bytes of definitions") {
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
  CHECK(line(Process{ProcessId{1}, 100, 99, 12345, StringId{1}, StringId{2}}) == "PROCESS;1;100;99;12345;1;2\n");
  CHECK(line(Device{DeviceId{1}, StringId{2}, 0, StringId{3}}) == "DEVICE;1;2;0;3\n");
  CHECK(line(ProcName{StringId{7}, 4242}) == "PROC_NAME;7;4242\n");
  CHECK(line(GpuFile{1, "a.cl"}) == "GPU_FILE;1;a.cl\n");
  CHECK(line(GpuSymbol{2, "saxpy"}) == "GPU_SYMBOL;2;saxpy\n");
  CHECK(line(InsnText{3, "IADD3 R1, R2, RZ ;"}) == "INSN_TEXT;3;IADD3 R1, R2, RZ \\x3b\n");
}

TEST_CASE("exact bytes of stacks") {
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

TEST_CASE("exact bytes of measurements") {
  Gpu gpu;
  gpu.slice = 1;
  gpu.process = ProcessId{2};
  gpu.thread = StringId{3};
  gpu.ustack = StackId{4};
  gpu.kstack = StackId{5};
  gpu.device = DeviceId{6};
  gpu.stream = 7;
  gpu.op = Op::copy_htod;
  gpu.name = StringId{8};
  gpu.count = 2;
  gpu.sum_ns = 300;
  gpu.min_ns = 100;
  gpu.max_ns = 200;
  gpu.sum_squares_ns2 = (Uint128{1} << 127U) | 5U;
  gpu.queue_ns = 9;
  gpu.bytes = 18446744073709551615U;
  CHECK(line(gpu) ==
        "GPU;1;2;3;4;5;6;7;copy_htod;8;2;300;100;200;170141183460469231731687303715884105733;9;18446744073709551615\n");
  CHECK(line(Launch{0, ProcessId{1}, StringId{2}, StackId{3}, StackId{4}, StringId{5}, 6}) == "LAUNCH;0;1;2;3;4;5;6\n");
  CHECK(line(EuStall{StringId{1}, 100, StackId{2}, StackId{3}, 4, 5, 6, 7, 0x40, 8}) ==
        "EUSTALL;1;100;2;3;4;5;6;7;0x40;8\n");
  CHECK(line(Loss{ProcessId{1}, "ring_full", 12}) == "LOSS;1;ring_full;12\n");
  CHECK(line(End{1, 2, 3, 4, 5, 6}) == "END;1;2;3;4;5;6\n");
  CHECK(line(Unknown{"NEW"}).empty());
}

TEST_CASE("the words of every enumerator can be read back") {
  for (const char* kind : {"native", "inlined", "kernel", "python", "unknown", "truncated"}) {
    const std::string text = std::string("GPUPROF;1.0\nFRAME;1;") + kind + ";0;0;0;0;0;0x0\n";
    CHECK(test::rewritten(text) == text);
  }
  for (const char* op :
       {"kernel", "copy_htod", "copy_dtoh", "copy_dtod", "copy_htoh", "copy_ptop", "copy", "fill", "other"}) {
    const std::string text = std::string("GPUPROF;1.0\nGPU;0;0;0;0;0;0;0;") + op + ";0;1;5;5;5;25;0;0\n";
    CHECK(test::rewritten(text) == text);
  }
}

TEST_CASE("a writer hands over whole lines and keeps its error") {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const UniqueFd in(ends[0]);
  Writer writer{UniqueFd(ends[1])};
  writer.header();
  writer.add(String{StringId{1}, "x"});
  CHECK(writer.bytes_written() == 0);
  REQUIRE(writer.flush());
  const std::string expected = "GPUPROF;1.0\nSTRING;1;x\n";
  CHECK(writer.bytes_written() == expected.size());
  char text[64] = {};
  REQUIRE(::read(in.get(), text, sizeof text) == static_cast<ssize_t>(expected.size()));
  CHECK(std::string(text) == expected);
}

TEST_CASE("a full disk is an error that stays") {
  Writer writer{UniqueFd(::open("/dev/full", O_WRONLY | O_CLOEXEC))};
  writer.header();
  const Status first = writer.flush();
  REQUIRE_FALSE(first);
  CHECK(first.error().message == "cannot write the profile: No space left on device");
  CHECK_FALSE(writer.flush());
}
