#include "record/ipc/wire_decoder.h"

#include <functional>
#include <random>
#include <string>

#include "catch.h"
#include "wire_bytes.h"

using gpuprof::record::decode_records;
using gpuprof::record::DecodeCounts;
using gpuprof::test::WireBytes;

namespace {

std::string words(std::initializer_list<uint64_t> numbers) {
  std::string text;
  for (const uint64_t number : numbers) {
    text += " " + std::to_string(number);
  }
  return text + "\n";
}

struct RecordingSink final : gpuprof::backend::EventSink {
  void on_source(uint32_t, uint32_t, std::string_view) override {}
  void on_name(uint32_t, uint32_t id, std::string_view text) override {
    log += "name " + std::to_string(id) + " " + std::string(text) + "\n";
  }
  void on_device(uint32_t, uint32_t device, uint32_t name, uint32_t uuid) override {
    log += "device" + words({device, name, uuid});
  }
  void on_gpu_op(const gpuprof::backend::GpuOp& op) override {
    log += "op" + words({op.correlation, op.end_ns - op.start_ns, op.graph_node});
    log += op.exec != 0 ? "exec " + std::to_string(op.exec) + "\n" : "";
    log += op.more ? "more\n" : "";
  }
  void on_launch(uint32_t, const gpuprof::backend::LaunchCall& launch) override {
    log += "launch " + std::string(launch.thread) +
           words({launch.correlation, launch.time_ns, launch.tid, launch.range, launch.stack});
  }
  void on_host_op(const gpuprof::backend::HostOp& op) override {
    log += "host" + words({op.correlation & 0xffff, op.end_ns - op.start_ns, op.bytes, op.count, op.name_id, op.device,
                           op.tid, op.op});
  }
  void on_graph_node(uint32_t, const gpuprof::backend::GraphNode& node) override {
    log += "node" + words({node.node, node.original, node.launch, node.time_ns, node.name_id, uint64_t{node.destroyed},
                           uint64_t{node.updated}});
  }
  void on_graph_launch(uint32_t, const gpuprof::backend::GraphLaunch& launch) override {
    log += "graph" + words({launch.correlation, launch.time_ns, launch.finished, launch.exec, launch.stream,
                            uint64_t{launch.outside}});
  }
  void on_range(uint32_t, const gpuprof::backend::Range& range) override {
    log += "range" + words({range.id, range.parent, range.domain_id, range.name_id});
  }
  void on_call(uint32_t, const gpuprof::backend::Call& call) override {
    log += "call" + words({call.correlation, call.start_ns, call.end_ns, call.name_id, call.tid});
  }
  void on_span(uint32_t, const gpuprof::backend::Span& span) override {
    log += "span" + words({span.start_ns, span.end_ns, span.range, span.tid});
  }
  void on_meta(uint32_t, std::string_view text) override { log += "meta " + std::string(text) + "\n"; }
  void on_stack(uint32_t, const gpuprof::backend::Stack& stack) override {
    log += "stack" + words({stack.id, stack.flags});
    for (const uint64_t word : stack.words) {
      log += "  " + std::to_string(word) + "\n";
    }
    for (const uint32_t module : stack.modules) {
      log += "  in " + std::to_string(module) + "\n";
    }
  }
  void on_module(uint32_t, const gpuprof::backend::Module& module) override {
    log += "module " + std::string(module.path) + words({module.module, module.start, module.end, module.offset});
    for (const auto& mark : module.marks) {
      log += "  at " + std::to_string(mark.offset) + " " + std::to_string(static_cast<unsigned>(mark.bytes[2])) + "\n";
    }
  }
  void on_mappings(uint32_t) override { log += "mappings\n"; }
  void on_code(uint32_t, const gpuprof::backend::PythonCode& code) override {
    log += "code " + std::string(code.name) + " " + std::string(code.file) +
           words({code.id, code.version, code.first_line, code.line_table.size()});
    last_line_byte = code.line_table.empty() ? 0 : code.line_table.back();
  }
  void on_python(uint32_t, const gpuprof_python_layout& layout) override {
    log += "python" + words({layout.version, layout.eval_begin, layout.eval_end});
  }
  void on_counters(uint32_t, const gpuprof::backend::Counters&) override {}
  void on_traits(uint32_t, const gpuprof::backend::SourceTraits&) override {}
  void on_gpu_module(uint32_t, const gpuprof::backend::GpuModule&) override {}
  void on_gpu_place(uint32_t, const gpuprof::backend::GpuPlace&) override {}
  void on_sample(const gpuprof::backend::Sample&) override {}
  void on_samples_dropped(uint32_t, uint64_t) override {}
  void on_location_samples(uint32_t, const gpuprof::backend::LocationSamples& samples) override {
    log += samples.address == 0  ? ""
           : samples.low_address ? "low address" + words({samples.address})
                                 : "address" + words({samples.address});
    log +=
        "samples" + words({samples.module, samples.offset, samples.function_id, samples.window, samples.correlation});
    for (const auto& reason : samples.reasons) {
      log += "  " + std::to_string(reason.reason_id) + " x" + std::to_string(reason.samples) + "\n";
    }
  }
  void on_sampled_launch(uint32_t, uint64_t correlation) override { log += "sampled" + words({correlation}); }
  void on_blocks(uint32_t, const gpuprof::backend::LaunchBlocks& b) override {
    log += "blocks" + words({b.correlation, b.launches, b.grid, b.blocks, b.span_ns, b.sum_ns, b.busy_ns, b.sm_ns}) +
           "  busiest" + words({b.busiest_ns, b.mean_ns, b.tail_ns, b.tail_busy_ns, b.tail_sm_ns, b.saved_ns}) +
           "  most" + words({b.concurrent, b.device_sms, b.slowest_ns, b.x, b.y, b.z});
    for (const auto& bucket : b.buckets) {
      log += "  " + std::to_string(bucket.bucket) + " x" + std::to_string(bucket.count) + "\n";
    }
  }
  void on_loaded_kernel(uint32_t, const gpuprof::backend::LoadedKernel& kernel) override {
    log += "loaded" + words({kernel.module, kernel.address, kernel.time_ns, kernel.load, kernel.name_id,
                             static_cast<uint64_t>(kernel.gone ? 1 : 0), kernel.device});
  }
  void on_location_count(uint32_t, const gpuprof::backend::PlaceCount& count) override {
    log += "count" + words({count.module, count.offset, count.value, count.function_id, count.name_id, count.device});
  }
  void on_sample_window(uint32_t, const gpuprof::backend::SampleWindow& window) override {
    log += "window" + words({window.start_ns, window.end_ns, window.handed, window.dropped, window.foreign,
                             window.period, window.window, window.device});
    log += window.unit == gpuprof::backend::SamplingUnit::ns ? "ns, of" + words({window.whole}) : "";
  }
  void on_source_end(uint32_t) override {}
  std::string log;
  uint8_t last_line_byte = 0;
};

// Sends a copy of the record for each change, which makes a field invalid. Returns how many copies are rejected.
template <typename T, typename... Change>
uint64_t refused(uint16_t type, T record, Change... change) {
  WireBytes wire;
  (
      [&] {
        T changed = record;
        change(changed);
        wire.add(type, changed);
      }(),
      ...);
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(counts.records == sizeof...(change));
  return counts.malformed;
}

}  // namespace

TEST_CASE("each record kind reaches its callback") {
  WireBytes wire;
  wire.name(1, "void solve<float>(int)").kernel(7, 100, 350, 1);
  wire.add(GPUPROF_RECORD_DEVICE, gpuprof_device{{}, 2, 1, 3, 0});
  wire.add(GPUPROF_RECORD_LAUNCH, gpuprof_launch{{}, 8, 5, 4242, 6, "worker", 9});
  wire.add(GPUPROF_RECORD_META, gpuprof_meta{{}, 7, 0}, "a=b;c=d");
  gpuprof_gpu_op node{};
  node.correlation = 9;
  node.start_ns = node.end_ns = 5;
  node.flags = GPUPROF_GPU_OP_MORE;
  node.graph_node = 77;
  wire.add(GPUPROF_RECORD_GPU_OP, node);
  node.flags = 0;
  wire.add(GPUPROF_RECORD_GPU_OP, node);
  wire.add(GPUPROF_RECORD_HOST_OP,
           gpuprof_host_op{{}, GPUPROF_CORRELATION_HOST | 5, 10, 30, 64, 1, 2, 3, 4, GPUPROF_HOST_ALLOC, 0});
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 12, 11, 10, 9, GPUPROF_GRAPH_NODE_DESTROYED, 1});
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 12, 0, 0, 9, GPUPROF_GRAPH_NODE_UPDATED, 2});
  wire.add(GPUPROF_RECORD_GRAPH_LAUNCH, gpuprof_graph_launch{{}, 13, 100, 12, 3, 14, GPUPROF_GPU_OP_OUTSIDE, 0});
  node.correlation = GPUPROF_CORRELATION_EXEC | 3;
  wire.add(GPUPROF_RECORD_GPU_OP, node);  // the work is in the body of a conditional node
  wire.add(GPUPROF_RECORD_RANGE, gpuprof_range{{}, 4, 3, 2, 1});
  wire.add(GPUPROF_RECORD_CALL, gpuprof_call{{}, 8, 100, 200, 1, 4242});
  wire.add(GPUPROF_RECORD_SPAN, gpuprof_span{{}, 100, 300, 4, 4242});

  RecordingSink sink;
  DecodeCounts counts;
  CHECK(decode_records(1, wire.bytes(), sink, counts) == wire.bytes().size());
  CHECK(sink.log ==
        "name 1 void solve<float>(int)\nop 7 250 0\ndevice 2 1 3\nlaunch worker 8 5 4242 6 9\nmeta a=b;c=d\n"
        "op 9 0 77\nmore\nop 9 0 77\nhost 5 20 64 1 2 3 4 1\nnode 12 11 10 9 1 1 0\n"
        "node 12 0 0 9 2 0 1\ngraph 13 100 12 3 14 1\nop 0 0 77\nexec 3\nrange 4 3 2 1\n"
        "call 8 100 200 1 4242\nspan 100 300 4 4242\n");
  CHECK(counts.records == 15);
  CHECK(counts.malformed == 0);
}

TEST_CASE("every untrusted field is checked") {
  using Gpu = gpuprof_gpu_op;
  CHECK(refused(
            GPUPROF_RECORD_GPU_OP, Gpu{}, [](Gpu& r) { r.start_ns = 1; }, [](Gpu& r) { r.op = GPUPROF_OPS; },
            [](Gpu& r) { r.end_ns = uint64_t{1} << 51; }, [](Gpu& r) { r.start_ns = r.end_ns = UINT64_MAX; },
            [](Gpu& r) { r.bytes = UINT64_MAX; }, [](Gpu& r) { r.queued_ns = UINT64_MAX; },
            [](Gpu& r) { r.submitted_ns = uint64_t{1} << 63; }, [](Gpu& r) { r.flags = 4; },
            [](Gpu& r) { r.correlation = GPUPROF_CORRELATION_HOST; },
            [](Gpu& r) { r.correlation = GPUPROF_CORRELATION_NODE | 1; },
            [](Gpu& r) { r.correlation = GPUPROF_CORRELATION_EXEC; },
            [](Gpu& r) { r.correlation = GPUPROF_CORRELATION_EXEC | uint64_t{1} << 32; }) == 12);
  using Host = gpuprof_host_op;
  CHECK(refused(
            GPUPROF_RECORD_HOST_OP, Host{}, [](Host& r) { r.op = GPUPROF_HOST_OPS; }, [](Host& r) { r.start_ns = 1; },
            [](Host& r) { r.bytes = UINT64_MAX; }, [](Host& r) { r.count = UINT64_MAX; },
            [](Host& r) { r.correlation = 1; }, [](Host& r) { r.correlation = GPUPROF_CORRELATION_NODE; },
            [](Host& r) { r.correlation = GPUPROF_CORRELATION_NODE | GPUPROF_CORRELATION_HOST; }) == 7);
  // Only a failed call may have the id of a launch.
  CHECK(refused(
            GPUPROF_RECORD_HOST_OP, Host{{}, 1, 0, 0, 0, 1, 0, 0, 0, GPUPROF_HOST_FAILED, 0},
            [](Host& r) { r.op = GPUPROF_HOST_SYNC; },
            [](Host& r) { r.correlation = GPUPROF_CORRELATION_NODE | 1; }) == 2);
  using Node = gpuprof_graph_node;
  CHECK(refused(
            GPUPROF_RECORD_GRAPH_NODE, Node{{}, 1, 0, 0, 0, 0, 0}, [](Node& r) { r.node = 0; },
            [](Node& r) { r.original = 1; }, [](Node& r) { r.flags = 3; }, [](Node& r) { r.flags = 4; },
            [](Node& r) { r.time_ns = UINT64_MAX; }, [](Node& r) { r.node = GPUPROF_CORRELATION_NODE; },
            [](Node& r) { r.launch = GPUPROF_CORRELATION_HOST; }, [](Node& r) { r.original = UINT64_MAX; }) == 8);
  using Graph = gpuprof_graph_launch;
  CHECK(refused(
            GPUPROF_RECORD_GRAPH_LAUNCH, Graph{{}, 2, 0, 1, 1, 0, 0, 0}, [](Graph& r) { r.exec = 0; },
            [](Graph& r) { r.correlation = 0; }, [](Graph& r) { r.correlation = GPUPROF_CORRELATION_EXEC | 1; },
            [](Graph& r) { r.finished = UINT64_MAX; }, [](Graph& r) { r.time_ns = UINT64_MAX; },
            [](Graph& r) { r.flags = GPUPROF_GPU_OP_MORE; }) == 6);
  using Range = gpuprof_range;
  CHECK(refused(
            GPUPROF_RECORD_RANGE, Range{{}, 1, 0, 0, 0}, [](Range& r) { r.id = 0; }, [](Range& r) { r.parent = 1; }) ==
        2);
  using Call = gpuprof_call;
  CHECK(refused(
            GPUPROF_RECORD_CALL, Call{}, [](Call& r) { r.start_ns = 1; }, [](Call& r) { r.end_ns = UINT64_MAX; },
            [](Call& r) { r.correlation = GPUPROF_CORRELATION_HOST; }) == 3);
  using Span = gpuprof_span;
  CHECK(refused(
            GPUPROF_RECORD_SPAN, Span{{}, 0, 0, 1, 0}, [](Span& r) { r.start_ns = 1; }, [](Span& r) { r.range = 0; }) ==
        2);
  using Launch = gpuprof_launch;
  CHECK(refused(
            GPUPROF_RECORD_LAUNCH, Launch{}, [](Launch& r) { r.time_ns = UINT64_MAX; },
            [](Launch& r) { r.correlation = UINT64_MAX; }) == 2);
  using Device = gpuprof_device;
  CHECK(refused(GPUPROF_RECORD_DEVICE, Device{}, [](Device& r) { r.device = UINT32_MAX; }) == 1);
}

TEST_CASE("stacks, code objects and Python layouts are decoded without reserved bits") {
  WireBytes wire;
  const uint64_t reserved = uint64_t{1} << 58;
  const uint64_t code = GPUPROF_WORD_OF_PYTHON(0x7fffffffu, 0xffffffffu);
  wire.stack(5, GPUPROF_STACK_TRUNCATED, {reserved | 0x1000, code, GPUPROF_WORD_EVAL | GPUPROF_WORD_EXACT | 0x2000});
  wire.code(7, "f", "a.py", "\x01\x02");
  gpuprof_python python{};
  python.layout.version = 0x030c0000;
  python.layout.eval_begin = 16;
  python.layout.eval_end = 32;
  wire.add(GPUPROF_RECORD_PYTHON, python);
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log == "stack 5 1\n  4096\n  " + std::to_string(code) + "\n  " +
                        std::to_string(GPUPROF_WORD_EVAL | GPUPROF_WORD_EXACT | 0x2000) +
                        "\ncode f a.py 7 51118080 3 2\npython 51118080 16 32\n");
  CHECK(sink.last_line_byte == 2);
  CHECK(counts.malformed == 0);
}

TEST_CASE("modules and mapping changes are decoded") {
  WireBytes wire;
  wire.add(GPUPROF_RECORD_MODULE, WireBytes::module(9), "/lib/libx.so").stack_in(5, 0x1000, {9, 4095});
  wire.add(GPUPROF_RECORD_MAPPINGS, gpuprof_mappings{});
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log ==
        "module /lib/libx. 9 139637976731648 139637976739840 4096\n  at 568 3\n"
        "stack 5 0\n  4096\n  in 9\n  in 4095\nmappings\n");
  CHECK(counts.malformed == 0);
}

TEST_CASE("invalid modules are rejected") {
  using Module = gpuprof_module;
  WireBytes wire;
  wire.stack_in(1, 1, {0}).stack_in(1, 1, {4096}).stack_in(1, 1, {UINT64_MAX});
  wire.stack_in(1, 1, {1}, 2).stack_in(1, 1, {1}, 0xffff);
  wire.stack_in(1, 1, std::vector<uint64_t>(GPUPROF_STACK_MAX_MODULES + 1, 1));
  wire.add(GPUPROF_RECORD_MODULE, WireBytes::module(1), std::string_view("/lib\0ibx.so", 12));
  wire.add(GPUPROF_RECORD_MODULE, WireBytes::module(1));  // the record lacks the path
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log.empty());
  CHECK(counts.malformed == 8);
  Module plain = WireBytes::module(1);
  plain.path_bytes = 0;
  CHECK(refused(GPUPROF_RECORD_MODULE, plain, [](Module&) {}) == 1);
  WireBytes changed;
  const auto change = [&](auto to) {
    Module one = WireBytes::module(1);
    to(one);
    changed.add(GPUPROF_RECORD_MODULE, one, std::string(5000, 'x'));
  };
  change([](Module& r) { r.module = 0; });
  change([](Module& r) { r.module = GPUPROF_MAX_MODULES; });
  change([](Module& r) { r.end = r.start; });
  change([](Module& r) { r.start = UINT64_MAX & ~uint64_t{4095}; });
  change([](Module& r) { r.end = UINT64_MAX & ~uint64_t{4095}; });
  change([](Module& r) { ++r.start; });
  change([](Module& r) { ++r.end; });
  change([](Module& r) { ++r.offset; });
  change([](Module& r) { r.offset = uint64_t{1} << 63; });
  change([](Module& r) { r.path_bytes = GPUPROF_WIRE_MAX_PATH + 1; });
  change([](Module& r) { r.path_bytes = UINT32_MAX; });
  change([](Module& r) { r.marks[3].offset = UINT64_MAX - 1; });
  DecodeCounts refusals;
  decode_records(1, changed.bytes(), sink, refusals);
  CHECK(sink.log.empty());
  CHECK(refusals.malformed == 12);
}

TEST_CASE("instruction counts are decoded or rejected") {
  using Count = gpuprof_count_record;
  WireBytes wire;
  wire.add(GPUPROF_RECORD_COUNT, Count{{}, 3, 0x40, 99, 5, 6, 1, 0});
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log == "count 3 64 99 5 6 1\n");
  CHECK(counts.malformed == 0);
  CHECK(refused(
            GPUPROF_RECORD_COUNT, Count{{}, 3, 0x40, 99, 5, 6, 1, 0}, [](Count& r) { r.function_id = 0; },
            [](Count& r) { r.name_id = 0; }, [](Count& r) { r.offset = UINT64_MAX; },
            [](Count& r) { r.value = UINT64_MAX; }) == 4);
}

TEST_CASE("kernel addresses are decoded or rejected") {
  using Kernel = gpuprof_gpu_kernel;
  WireBytes wire;
  wire.add(GPUPROF_RECORD_GPU_KERNEL, Kernel{{}, 3, 0x800000001000, 99, 5, 6, 0, 2, 0});
  wire.add(GPUPROF_RECORD_GPU_KERNEL, Kernel{{}, 0, 0, 100, 5, 0, GPUPROF_GPU_KERNEL_GONE, 0, 0});
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log == "loaded 3 140737488359424 99 5 6 0 2\nloaded 0 0 100 5 0 1 0\n");
  CHECK(counts.malformed == 0);
  CHECK(refused(
            GPUPROF_RECORD_GPU_KERNEL, Kernel{{}, 3, 0x1000, 99, 5, 6, 0, 0, 0}, [](Kernel& r) { r.name_id = 0; },
            [](Kernel& r) { r.address = 0; }, [](Kernel& r) { r.load = 0; },
            [](Kernel& r) { r.load = 0, r.flags = GPUPROF_GPU_KERNEL_GONE; }) == 4);
}

TEST_CASE("thread blocks are decoded or rejected") {
  using Blocks = gpuprof_blocks;
  // Of 12 blocks on 4 SMs, 10 were recorded. In the tail of 41 ns, one SM worked.
  const Blocks good{{}, 7, 12, 10, 100, 500, 80, {1, 2, 3}, 8, 4, 132, 302, 100, 41, 41, 4, 2};
  const std::string_view buckets("\x28\0\0\0\6\0\0\0\x48\0\0\0\4\0\0\0", 16);  // 40: 6, 72: 4
  WireBytes wire;
  wire.add(GPUPROF_RECORD_BLOCKS, good, buckets);
  wire.add(GPUPROF_RECORD_BLOCKS, Blocks{{}, 8, 12, 0, 0, 0, 0, {}, 0, 0, 132, 0, 0, 0, 0, 0, 0});
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log ==
        "blocks 7 1 12 10 100 500 302 400\n  busiest 100 76 41 41 164 30\n  most 8 132 80 1 2 3\n  40 x6\n  72 x4\n"
        "blocks 8 1 12 0 0 0 0 0\n  busiest 0 0 0 0 0 0\n  most 0 132 0 0 0 0\n");
  CHECK(counts.malformed == 0);

  const std::function<void(Blocks&)> changes[] = {
      [](Blocks& r) { r.correlation = 0; },
      [](Blocks& r) { r.correlation = GPUPROF_CORRELATION_HOST | 7; },
      [](Blocks& r) { r.grid = 9; },
      [](Blocks& r) { r.grid = UINT64_MAX; },
      [](Blocks& r) { r.blocks = 9; },  // the buckets hold more
      [](Blocks& r) { r.blocks = 0; },
      [](Blocks& r) { r.span_ns = UINT64_MAX; },
      [](Blocks& r) { r.span_ns = 99; },  // shorter than the busiest SM worked
      [](Blocks& r) { r.span_ns = 100, r.sms = 3; },
      [](Blocks& r) { r.sum_ns = 301; },
      [](Blocks& r) { r.sum_ns = UINT64_MAX; },
      [](Blocks& r) { r.slowest_ns = 101; },
      [](Blocks& r) { r.slowest_ns = 71; },  // below the last bucket
      [](Blocks& r) { r.concurrent = 11; },
      [](Blocks& r) { r.concurrent = 3; },
      [](Blocks& r) { r.sms = 0; },
      [](Blocks& r) { r.sms = 5; },
      [](Blocks& r) { r.device_sms = UINT32_MAX; },
      [](Blocks& r) { r.busy_ns = 401; },
      [](Blocks& r) { r.busy_ns = UINT64_MAX; },
      [](Blocks& r) { r.busiest_ns = 75; },  // four SMs cannot have worked for 302 ns
      [](Blocks& r) { r.busiest_ns = 101; },
      [](Blocks& r) { r.tail_ns = 101; },
      [](Blocks& r) { r.tail_ns = 10; },  // four SMs cannot have worked for 41 ns
      [](Blocks& r) { r.tail_busy_ns = 303; },
      [](Blocks& r) { r.used_sms = 3; },
      [](Blocks& r) { r.used_sms = UINT32_MAX; },
      [](Blocks& r) { r.count = 3; },
      [](Blocks& r) { r.count = UINT32_MAX; },
  };
  RecordingSink nothing;
  for (size_t i = 0; i < std::size(changes); ++i) {
    CAPTURE(i);
    Blocks changed = good;
    changes[i](changed);
    WireBytes wrong;
    wrong.add(GPUPROF_RECORD_BLOCKS, changed, buckets);
    DecodeCounts refusals;
    decode_records(1, wrong.bytes(), nothing, refusals);
    CHECK(refusals.malformed == 1);
  }
  for (const std::string_view wrong_buckets : {std::string_view("\x28\0\0\0\0\0\0\0\x48\0\0\0\4\0\0\0", 16),
                                               std::string_view("\x28\0\0\0\1\0\0\0\x28\0\0\0\4\0\0\0", 16),
                                               std::string_view("\x28\0\0\0\7\0\0\0\x48\0\0\0\4\0\0\0", 16)}) {
    WireBytes wrong;
    wrong.add(GPUPROF_RECORD_BLOCKS, good, wrong_buckets);
    DecodeCounts refusals;
    decode_records(1, wrong.bytes(), nothing, refusals);
    CHECK(refusals.malformed == 1);
  }
  CHECK(nothing.log.empty());
}

TEST_CASE("decode_names() reads only valid name records") {
  WireBytes wire;
  wire.name(1, "one").add(GPUPROF_RECORD_SAMPLED_LAUNCH, gpuprof_sampled_launch{{}, 77}).name(0, "none").name(2, "");
  std::string log;
  const auto take = [&log](uint32_t id, std::string_view text) {
    log += std::to_string(id) + "=" + std::string(text) + " ";
  };
  gpuprof::record::decode_names(wire.bytes(), take);
  CHECK(log == "1=one 2= ");
  auto cut = wire.bytes();
  cut.resize(cut.size() - 8);
  log.clear();
  gpuprof::record::decode_names(cut, take);
  CHECK(log == "1=one ");
}

TEST_CASE("samples and sample windows are decoded or rejected") {
  const std::string_view reasons("\5\0\0\0\7\0\0\0\6\0\0\0\1\0\0\0", 16);
  WireBytes wire;
  wire.add(GPUPROF_RECORD_SAMPLES, gpuprof_samples{{}, 3, 0x40, 2, 9, 2, 0, 77}, reasons);
  wire.add(GPUPROF_RECORD_SAMPLED_LAUNCH, gpuprof_sampled_launch{{}, 77});
  wire.add(GPUPROF_RECORD_SAMPLE_WINDOW, gpuprof_sample_window{{}, 100, 200, 8, 1, 2, 512, 9, 1, 4, 0, 0, 0});
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log == "samples 3 64 2 9 77\n  5 x7\n  6 x1\nsampled 77\nwindow 100 200 8 1 2 512 9 1\n");
  CHECK(counts.malformed == 0);

  using Samples = gpuprof_samples;
  WireBytes wrong;
  const auto change = [&](auto to) {
    Samples one{{}, 3, 0x40, 2, 9, 2, 0, 0};
    to(one);
    wrong.add(GPUPROF_RECORD_SAMPLES, one, reasons);
  };
  change([](Samples& r) { r.flags = 4; });
  change([](Samples& r) { r.window = 0; });
  change([](Samples& r) { r.function_id = 0; });
  change([](Samples& r) { r.offset = UINT64_MAX; });
  change([](Samples& r) { r.count = 0; });
  change([](Samples& r) { r.count = 3; });
  change([](Samples& r) { r.count = UINT32_MAX; });
  wrong.add(GPUPROF_RECORD_SAMPLES, Samples{{}, 3, 0x40, 2, 9, 2, 0, 0},
            std::string_view("\5\0\0\0\7\0\0\0\0\0\0\0\1\0\0\0", 16));
  DecodeCounts refusals;
  RecordingSink nothing;
  decode_records(1, wrong.bytes(), nothing, refusals);
  CHECK(nothing.log.empty());
  CHECK(refusals.malformed == 8);
  using Launch = gpuprof_sampled_launch;
  CHECK(refused(GPUPROF_RECORD_SAMPLED_LAUNCH, Launch{{}, 1}, [](Launch& r) { r.correlation = 0; }) == 1);
  using Window = gpuprof_sample_window;
  CHECK(refused(
            GPUPROF_RECORD_SAMPLE_WINDOW, Window{{}, 1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0},
            [](Window& r) { r.window = 0; }, [](Window& r) { r.start_ns = 3; },
            [](Window& r) { r.handed = UINT64_MAX; }, [](Window& r) { r.dropped = UINT64_MAX; },
            [](Window& r) { r.foreign = UINT64_MAX; }, [](Window& r) { r.period = UINT64_MAX; }) == 6);
}

TEST_CASE("samples with addresses are decoded or rejected") {
  constexpr uint32_t kLow = GPUPROF_SAMPLES_ADDRESS | GPUPROF_SAMPLES_LOW_ADDRESS;
  using Samples = gpuprof_samples;
  const std::string_view reasons("\5\0\0\0\7\0\0\0", 8);
  WireBytes wire;
  wire.add(GPUPROF_RECORD_SAMPLES, Samples{{}, 0, 0x12348, 0, 9, 1, kLow, 0}, reasons);
  wire.add(GPUPROF_RECORD_SAMPLES, Samples{{}, 0, UINT64_MAX, 0, 9, 1, GPUPROF_SAMPLES_ADDRESS, 0}, reasons);
  wire.add(GPUPROF_RECORD_SAMPLE_WINDOW,
           gpuprof_sample_window{{}, 100, 200, 14, 1, 0, 91287, 9, 3, 0, 1, GPUPROF_SAMPLE_WINDOW_NS, 0});
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log ==
        "low address 74568\nsamples 0 0 0 9 0\n  5 x7\naddress 18446744073709551615\nsamples 0 0 0 9 0\n  5 x7\n"
        "window 100 200 14 1 0 91287 9 3\nns, of 1\n");
  CHECK(counts.malformed == 0);

  WireBytes wrong;
  const auto change = [&](auto to) {
    Samples one{{}, 0, 0x12348, 0, 9, 1, kLow, 0};
    to(one);
    wrong.add(GPUPROF_RECORD_SAMPLES, one, reasons);
  };
  change([](Samples& r) { r.offset = uint64_t{1} << 32; });
  change([](Samples& r) { r.function_id = 2; });
  change([](Samples& r) { r.module = 2; });
  change([](Samples& r) { r.correlation = 2; });
  change([](Samples& r) { r.flags = GPUPROF_SAMPLES_LOW_ADDRESS; });
  change([](Samples& r) { r.flags |= 4; });
  DecodeCounts refusals;
  RecordingSink nothing;
  decode_records(1, wrong.bytes(), nothing, refusals);
  CHECK(nothing.log.empty());
  CHECK(refusals.malformed == 6);
}

TEST_CASE("invalid stacks, code objects and Python layouts are rejected") {
  WireBytes wire;
  wire.stack(0, 0, {1}).stack(1, 4, {1}).stack(1, 0, {});  // no id, an unknown flag, no words
  wire.stack(1, 0, {1}, 2).stack(1, 0, {1}, UINT32_MAX);   // more words than the record holds
  wire.stack(1, 0, std::vector<uint64_t>(GPUPROF_STACK_MAX_WORDS + 1, 1));
  wire.stack(1, 0, {GPUPROF_WORD_PYTHON | 5});  // the word names no code object
  wire.code(0, "", "", "").code(0x80000000u, "", "", "");
  wire.code(1, std::string(4097, 'x'), "", "").code(1, "", std::string(4097, 'x'), "");
  using Code = gpuprof_code;
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log.empty());
  CHECK(counts.malformed == 11);
  CHECK(refused(
            GPUPROF_RECORD_CODE, Code{{}, 1, 0, 0, 0, 0, 0}, [](Code& r) { r.name_bytes = 1; },
            [](Code& r) { r.file_bytes = 1; }, [](Code& r) { r.line_table_bytes = UINT32_MAX; },
            [](Code& r) { r.name_bytes = r.line_table_bytes = UINT32_MAX; }) == 4);
  gpuprof_python python{};
  python.layout.version = 1;
  using Python = gpuprof_python;
  CHECK(refused(
            GPUPROF_RECORD_PYTHON, python, [](Python& r) { r.layout.version = 0; },
            [](Python& r) { r.layout.flags = 2; }, [](Python& r) { r.layout.boundary = 3; },
            [](Python& r) { r.layout.eval_begin = 1; }, [](Python& r) { r.layout.eval_end = UINT64_MAX; },
            [](Python& r) { r.layout.code_type = UINT64_MAX; }, [](Python& r) { r.layout.text_kind_shift = 32; },
            [](Python& r) { r.layout.code_tagged = 2; }) == 8);
}

TEST_CASE("a record shorter than its kind is rejected") {
  for (uint16_t type = 1; type < GPUPROF_RECORD_TYPES; ++type) {
    WireBytes wire;
    wire.add(type, gpuprof_record{}).name(2, "next");
    RecordingSink sink;
    DecodeCounts counts;
    decode_records(1, wire.bytes(), sink, counts);
    CHECK(sink.log == "name 2 next\n");
    CHECK(counts.malformed == 1);
  }
}

TEST_CASE("a thread name of 16 bytes has no terminator") {
  gpuprof_launch launch{};
  std::memset(launch.thread, 'x', sizeof(launch.thread));
  WireBytes wire;
  wire.add(GPUPROF_RECORD_LAUNCH, launch);
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log == "launch xxxxxxxxxxxxxxxx 0 0 0 0 0\n");
}

TEST_CASE("invalid records are counted and skipped") {
  RecordingSink sink;
  DecodeCounts counts;

  SECTION("a text longer than its record") {
    WireBytes wire;
    wire.add(GPUPROF_RECORD_NAME, gpuprof_name{{}, 1, 5000}, "abc").name(2, "next");
    decode_records(1, wire.bytes(), sink, counts);
    CHECK(sink.log == "name 2 next\n");
    CHECK(counts.malformed == 1);
  }
  SECTION("an end before the start, or an unknown operation") {
    WireBytes wire;
    wire.kernel(1, 100, 99, 0);
    gpuprof_gpu_op op{};
    op.op = GPUPROF_OPS;
    wire.add(GPUPROF_RECORD_GPU_OP, op);
    decode_records(1, wire.bytes(), sink, counts);
    CHECK(sink.log.empty());
    CHECK(counts.malformed == 2);
  }
  SECTION("an invalid record size ends the decoding") {
    for (const uint32_t size : {0u, 4u, 12u, 4096u, 0xfffffff8u}) {
      WireBytes wire;
      wire.name(1, "first").name(2, "second");
      std::memcpy(wire.bytes().data() + 24 + offsetof(gpuprof_record, bytes), &size, sizeof(size));
      RecordingSink own;
      DecodeCounts own_counts;
      CHECK(decode_records(1, wire.bytes(), own, own_counts) == 24);
      CHECK(own.log == "name 1 first\n");
    }
  }
  SECTION("an unknown type is skipped") {
    WireBytes wire;
    wire.add(999, gpuprof_device{}).name(3, "after");
    decode_records(1, wire.bytes(), sink, counts);
    CHECK(sink.log == "name 3 after\n");
    CHECK(counts.unknown == 1);
  }
}

TEST_CASE("random bytes are never read out of bounds") {
  std::mt19937 random(42);  // NOLINT: repeatable on purpose
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> bytes(random() % 400);
    for (auto& byte : bytes) {
      byte = static_cast<std::byte>(random() % 5 == 0 ? random() : random() % 3);
    }
    RecordingSink sink;
    DecodeCounts counts;
    CHECK(decode_records(1, bytes, sink, counts) <= bytes.size());
  }
}
