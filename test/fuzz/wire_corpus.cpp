// Writes the seeds of fuzz_wire: wire_corpus FOLDER. With --check FOLDER it tests whether the folder has the current
// seeds. The seeds follow src/wire/wire.h, so they are generated.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "record/wire_bytes.h"
#include "wire/wire.h"

namespace {

using gpuprof::test::WireBytes;
using Seeds = std::map<std::string, std::vector<std::byte>>;

constexpr uint64_t kHost = GPUPROF_CORRELATION_HOST;
constexpr uint64_t kNode = GPUPROF_CORRELATION_NODE;

gpuprof_gpu_op op_of(uint64_t correlation, uint16_t op) {
  gpuprof_gpu_op made{};
  made.correlation = correlation;
  made.start_ns = 1000 * (correlation & 0xff);
  made.end_ns = made.start_ns + 500;
  made.queued_ns = made.start_ns - 300;
  made.submitted_ns = made.start_ns - 100;
  made.op = op;
  return made;
}

gpuprof_launch launch_of(uint64_t correlation, uint32_t range = 0) {
  gpuprof_launch made{};
  made.correlation = correlation;
  made.time_ns = 1000 * (correlation & 0xff) - 500;
  made.tid = 4242;
  made.range = range;
  std::strcpy(made.thread, "worker");
  return made;
}

WireBytes kernels() {
  WireBytes wire;
  wire.name(1, "void solve<float>(float*, int)").name(2, "NVIDIA H200").name(3, "GPU-1234");
  wire.add(GPUPROF_RECORD_DEVICE, gpuprof_device{{}, 0, 2, 3, 0});
  for (uint64_t i = 1; i <= 3; ++i) {
    wire.add(GPUPROF_RECORD_LAUNCH, launch_of(i));
    auto op = op_of(i, GPUPROF_OP_KERNEL);
    op.name_id = 1;
    op.stream = i;
    wire.add(GPUPROF_RECORD_GPU_OP, op);
  }
  return wire;
}

WireBytes copies() {
  WireBytes wire;
  for (uint16_t op = GPUPROF_OP_COPY_HTOD; op < GPUPROF_OPS; ++op) {
    auto record = op_of(op, op);
    record.bytes = 4096;
    wire.add(GPUPROF_RECORD_GPU_OP, record);
  }
  return wire;
}

// Sends a captured launch, its graph node, a copy of the node that runs twice, and the end of the original node.
WireBytes graph() {
  WireBytes wire;
  wire.name(1, "k");
  wire.add(GPUPROF_RECORD_LAUNCH, launch_of(1));
  wire.add(GPUPROF_RECORD_LAUNCH, launch_of(kNode | 10));
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 10, 0, 1, 900, 0, 0});
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 10, 0, 0, 1500, GPUPROF_GRAPH_NODE_DESTROYED, 0});
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 12, 11, 0, 900, 0, 0});
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 11, 10, 0, 900, 0, 0});
  wire.add(GPUPROF_RECORD_LAUNCH, launch_of(2));
  for (int replay = 0; replay < 2; ++replay) {
    auto op = op_of(2, GPUPROF_OP_KERNEL);
    op.name_id = 1;
    op.graph_node = 12;
    op.flags = GPUPROF_GPU_OP_MORE;
    wire.add(GPUPROF_RECORD_GPU_OP, op);
  }
  wire.add(GPUPROF_RECORD_GPU_OP, op_of(3, GPUPROF_OP_GRAPH));
  return wire;
}

WireBytes graph_cycle() {
  WireBytes wire;
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 1, 2, 0, 900, 0, 0});
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 2, 1, 0, 900, 0, 0});
  auto op = op_of(2, GPUPROF_OP_KERNEL);
  op.graph_node = 1;
  wire.add(GPUPROF_RECORD_GPU_OP, op);
  return wire;
}

// Sends work in bodies of conditional nodes. Between two launches there is a copy, their own work, or nothing.
WireBytes graph_bodies() {
  WireBytes wire;
  wire.name(1, "body").name(2, "other");
  const auto body = [&](uint64_t start_ns) {
    auto op = op_of(GPUPROF_CORRELATION_EXEC | 3, GPUPROF_OP_KERNEL);
    op.start_ns = start_ns;
    op.end_ns = start_ns + 50;
    op.graph_node = uint64_t{3} << 32 | 1;
    op.flags = GPUPROF_GPU_OP_MORE;
    wire.add(GPUPROF_RECORD_GPU_OP, op);
  };
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, uint64_t{3} << 32 | 1, 0, 0, 100, 0, 1});
  for (uint64_t launch = 10; launch <= 30; launch += 10) {
    wire.add(GPUPROF_RECORD_LAUNCH, launch_of(launch, static_cast<uint32_t>(launch / 20)));
    wire.add(GPUPROF_RECORD_GRAPH_LAUNCH,
             gpuprof_graph_launch{{}, launch, 100 * launch, launch - 5, 3, 7, launch == 30 ? 2u : 0u, 0});
    body(100 * launch + 20);
    body(100 * launch + 500);
  }
  wire.add(GPUPROF_RECORD_GRAPH_NODE,
           gpuprof_graph_node{{}, uint64_t{3} << 32 | 1, 0, 0, 2500, GPUPROF_GRAPH_NODE_UPDATED, 2});
  auto copy = op_of(15, GPUPROF_OP_COPY);
  copy.start_ns = 1800;
  copy.stream = 7;
  wire.add(GPUPROF_RECORD_GPU_OP, copy);
  auto own = op_of(40, GPUPROF_OP_KERNEL);
  own.start_ns = 4000;
  own.end_ns = 4100;
  own.graph_node = uint64_t{3} << 32;
  wire.add(GPUPROF_RECORD_GPU_OP, own);
  body(4500);
  return wire;
}

WireBytes host_ops() {
  WireBytes wire;
  wire.name(1, "cuStreamSynchronize");
  for (uint16_t op = 0; op < GPUPROF_HOST_OPS; ++op) {
    wire.add(GPUPROF_RECORD_LAUNCH, launch_of(kHost | (op + 1u)));
    wire.add(GPUPROF_RECORD_HOST_OP,
             gpuprof_host_op{{}, kHost | (op + 1u), 2000, 2900, 64, 3, 1, op % 2 == 0 ? UINT32_MAX : 0, 4242, op, 0});
  }
  return wire;
}

WireBytes ranges() {
  WireBytes wire;
  wire.add(GPUPROF_RECORD_RANGE, gpuprof_range{{}, 2, 1, 7, 6});  // arrives before its parent and its names
  wire.add(GPUPROF_RECORD_RANGE, gpuprof_range{{}, 1, 0, 0, 5});
  wire.add(GPUPROF_RECORD_RANGE, gpuprof_range{{}, 3, 4, 0, 5});  // ranges 3 and 4 are each other's parents
  wire.add(GPUPROF_RECORD_RANGE, gpuprof_range{{}, 4, 3, 0, 5});
  wire.name(5, "epoch").name(6, "step").name(7, "torch");
  wire.add(GPUPROF_RECORD_LAUNCH, launch_of(1, 2));
  wire.add(GPUPROF_RECORD_GPU_OP, op_of(1, GPUPROF_OP_KERNEL));
  wire.add(GPUPROF_RECORD_GPU_OP, op_of(2, GPUPROF_OP_KERNEL));
  return wire;
}

WireBytes timeline() {
  WireBytes wire = kernels();
  wire.name(9, "cudaLaunchKernel");
  wire.add(GPUPROF_RECORD_CALL, gpuprof_call{{}, 1, 400, 600, 9, 4242});
  wire.add(GPUPROF_RECORD_RANGE, gpuprof_range{{}, 1, 0, 0, 9});
  wire.add(GPUPROF_RECORD_SPAN, gpuprof_span{{}, 300, 900, 1, 0});
  return wire;
}

WireBytes bad_times() {
  WireBytes wire;
  wire.kernel(1, 100, 99, 0).kernel(2, 0, UINT64_MAX, 0).kernel(3, UINT64_MAX, UINT64_MAX, 0);
  wire.kernel(4, uint64_t{1} << 61, uint64_t{1} << 61, 0).kernel(5, 0, 0, 0);
  return wire;
}

WireBytes names() {
  WireBytes wire;
  wire.kernel(1, 100, 200, 7).name(7, "late").kernel(2, 100, 200, 99);
  wire.add(GPUPROF_RECORD_NAME, gpuprof_name{{}, 8, 0xffffffffu}, "longer than its record");
  wire.name(9, std::string_view("a;b\n\xff\0c", 7));
  wire.add(GPUPROF_RECORD_META, gpuprof_meta{{}, 11, 0}, "key;=va\nlue");
  return wire;
}

WireBytes pad_unknown() {
  WireBytes wire;
  wire.add(GPUPROF_RECORD_PAD, gpuprof_device{});
  wire.add(GPUPROF_RECORD_TYPES, gpuprof_device{}).add(0xffff, gpuprof_device{}).name(1, "after");
  return wire;
}

gpuprof_launch with_stack(uint64_t correlation, uint64_t stack) {
  gpuprof_launch made = launch_of(correlation);
  made.stack = stack;
  return made;
}

// Sends launches before and after their stacks, and code objects before and after stacks that refer to them.
WireBytes stacks() {
  WireBytes wire;
  gpuprof_python python{};
  python.layout.version = 0x030c0000;
  python.layout.eval_begin = 0x5000;
  python.layout.eval_end = 0x6000;
  wire.add(GPUPROF_RECORD_PYTHON, python);
  wire.add(GPUPROF_RECORD_LAUNCH, with_stack(1, 11));
  wire.code(1, "train.<locals>.step", "/app/train.py", "\x80\x00\xf0\x01");
  const std::vector<uint64_t> words = {0x1000, GPUPROF_WORD_OF_PYTHON(1u, 2u), GPUPROF_WORD_OF_PYTHON(2u, 4u),
                                       0x5010 | GPUPROF_WORD_EVAL, 0x1100};
  wire.stack(11, 0, words).stack(12, GPUPROF_STACK_TRUNCATED | GPUPROF_STACK_NO_PYTHON, {0x1000, 0x2000});
  wire.code(2, "<module>", "/app/train.py", "").stack(11, 0, words);
  wire.add(GPUPROF_RECORD_MODULE, WireBytes::module(1), "/lib/libx.so")
      .add(GPUPROF_RECORD_MAPPINGS, gpuprof_mappings{});
  wire.stack_in(14, 0x7f0000001100, {1}).add(GPUPROF_RECORD_LAUNCH, with_stack(4, 14));
  wire.add(GPUPROF_RECORD_GPU_OP, op_of(4, GPUPROF_OP_KERNEL));
  wire.add(GPUPROF_RECORD_LAUNCH, with_stack(2, 12)).add(GPUPROF_RECORD_LAUNCH, with_stack(3, 13));
  wire.add(GPUPROF_RECORD_LAUNCH, with_stack(kNode | 10, 11));
  wire.add(GPUPROF_RECORD_GRAPH_NODE, gpuprof_graph_node{{}, 10, 0, 1, 900, 0, 0});
  for (uint64_t i = 1; i <= 3; ++i) {
    wire.add(GPUPROF_RECORD_GPU_OP, op_of(i, GPUPROF_OP_KERNEL));
  }
  return wire;
}

WireBytes bad_stacks() {
  WireBytes wire;
  wire.stack(1, 0, {UINT64_MAX, 0, GPUPROF_WORD_PYTHON}).stack(2, 0, {1}, GPUPROF_STACK_MAX_WORDS);
  wire.add(GPUPROF_RECORD_CODE, gpuprof_code{{}, 1, 0, 0, 0xffffffffu, 0xffffffffu, 2});
  wire.code(0x7fffffff, "a;b\n\xff", std::string("\0", 1), std::string(300, '\xff'));
  wire.stack(3, 0, {GPUPROF_WORD_OF_PYTHON(0x7fffffffu, UINT32_MAX), GPUPROF_WORD_ADDRESS});
  wire.add(GPUPROF_RECORD_MODULE, WireBytes::module(0), "/lib/libx.so").stack_in(4, 1, {1}, GPUPROF_STACK_MAX_MODULES);
  wire.add(GPUPROF_RECORD_LAUNCH, with_stack(1, 3)).add(GPUPROF_RECORD_GPU_OP, op_of(1, GPUPROF_OP_KERNEL));
  return wire;
}

// Sends samples of a kernel that ran and of an unknown kernel, in a closed and in an open sample window.
WireBytes samples() {
  const std::string_view reasons("\5\0\0\0\7\0\0\0\6\0\0\0\1\0\0\0", 16);
  WireBytes wire = kernels();
  wire.name(4, "unknown").name(5, "long_scoreboard").name(6, "barrier");
  wire.add(GPUPROF_RECORD_SAMPLED_LAUNCH, gpuprof_sampled_launch{{}, 1});
  for (const uint32_t function : {1u, 4u, 9u}) {
    wire.add(GPUPROF_RECORD_SAMPLES, gpuprof_samples{{}, 3, 0x40, function, 1, 2, 0, 0}, reasons);
    wire.add(GPUPROF_RECORD_SAMPLES, gpuprof_samples{{}, 0, 0x50, function, 2, 2, 0, function}, reasons);
  }
  wire.add(GPUPROF_RECORD_SAMPLE_WINDOW, gpuprof_sample_window{{}, 1000, 9000, 30, 1, 2, 2048, 1, 0, 4, 0, 0, 0});
  return wire;
}

// Sends a kernel whose name arrives late, two kernels at one address, and the unloading of an unknown kernel.
WireBytes loaded_kernels() {
  WireBytes wire = samples();
  wire.add(GPUPROF_RECORD_GPU_KERNEL, gpuprof_gpu_kernel{{}, 3, 0x1000, 100, 1, 9, 0, 0, 0});
  wire.add(GPUPROF_RECORD_GPU_KERNEL, gpuprof_gpu_kernel{{}, 0, 0, 500, 1, 0, GPUPROF_GPU_KERNEL_GONE, 0, 0});
  wire.add(GPUPROF_RECORD_GPU_KERNEL, gpuprof_gpu_kernel{{}, 3, 0x1000, 600, 2, 1, 0, 0, 0});
  wire.name(9, "late");
  constexpr uint32_t kLow = GPUPROF_SAMPLES_ADDRESS | GPUPROF_SAMPLES_LOW_ADDRESS;
  const std::string_view reasons("\5\0\0\0\7\0\0\0\6\0\0\0\1\0\0\0", 16);
  wire.add(GPUPROF_RECORD_SAMPLES, gpuprof_samples{{}, 0, 0x1010, 0, 3, 2, kLow, 0}, reasons);
  wire.add(GPUPROF_RECORD_SAMPLES, gpuprof_samples{{}, 0, UINT64_MAX, 0, 3, 2, GPUPROF_SAMPLES_ADDRESS, 0}, reasons);
  wire.add(GPUPROF_RECORD_SAMPLE_WINDOW,
           gpuprof_sample_window{{}, 1000, 9000, 16, 1, 0, 91287, 3, 1, 0, 0, GPUPROF_SAMPLE_WINDOW_NS, 0});
  wire.add(GPUPROF_RECORD_GPU_KERNEL, gpuprof_gpu_kernel{{}, 0, 0, 700, 7, 0, GPUPROF_GPU_KERNEL_GONE, 0, 0});
  return wire;
}

WireBytes counts() {
  WireBytes wire = kernels();
  wire.name(4, "smsp__sass_inst_executed");
  for (const uint32_t function : {1u, 9u}) {
    wire.add(GPUPROF_RECORD_COUNT, gpuprof_count_record{{}, 3, 0x40, 17, function, 4, 0, 0});
    wire.add(GPUPROF_RECORD_COUNT, gpuprof_count_record{{}, 0, 0x50, UINT64_C(1) << 50, function, 4, 0, 0});
  }
  return wire;
}

// Sends the blocks of a launch, of a launch without recorded blocks, and of a launch that never runs.
WireBytes blocks() {
  const std::string_view buckets("\x28\0\0\0\6\0\0\0\x48\0\0\0\4\0\0\0", 16);
  WireBytes wire;
  for (const uint64_t launch : {1, 99}) {
    wire.add(GPUPROF_RECORD_BLOCKS,
             gpuprof_blocks{{}, launch, 12, 10, 100, 500, 80, {1, 2, 3}, 8, 4, 132, 302, 100, 41, 41, 4, 2}, buckets);
  }
  wire.add(GPUPROF_RECORD_BLOCKS, gpuprof_blocks{{}, 2, 12, 0, 0, 0, 0, {}, 0, 0, 132, 0, 0, 0, 0, 0, 0});
  WireBytes work = kernels();
  wire.bytes().insert(wire.bytes().end(), work.bytes().begin(), work.bytes().end());
  return wire;
}

Seeds make_seeds() {
  Seeds seeds;
  const auto add = [&seeds](const char* name, WireBytes wire) { seeds[name] = wire.bytes(); };
  add("kernels", kernels());
  add("blocks", blocks());
  add("copies", copies());
  add("counts", counts());
  add("loaded_kernels", loaded_kernels());
  add("graph", graph());
  add("graph_cycle", graph_cycle());
  add("graph_bodies", graph_bodies());
  add("host_ops", host_ops());
  add("ranges", ranges());
  add("timeline", timeline());
  add("bad_times", bad_times());
  add("names", names());
  add("pad_unknown", pad_unknown());
  add("stacks", stacks());
  add("bad_stacks", bad_stacks());
  add("samples", samples());
  add("cut", kernels());
  seeds["cut"].resize(seeds["cut"].size() - 20);
  return seeds;
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::strcmp(argv[1], "--check") == 0;
  if (argc != 2 + (check ? 1 : 0)) {
    std::fprintf(stderr, "usage: wire_corpus [--check] FOLDER\n");
    return 2;
  }
  int stale = 0;
  for (const auto& [name, bytes] : make_seeds()) {
    const std::string path = std::string(argv[argc - 1]) + "/" + name;
    const std::string wanted(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (check) {
      std::ifstream in(path, std::ios::binary);
      const std::string found((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      if (found != wanted) {
        std::fprintf(stderr, "%s is not what wire_corpus writes\n", path.c_str());
        stale = 1;
      }
    } else if (!(std::ofstream(path, std::ios::binary) << wanted).flush()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
  }
  return stale;
}
