#include "record/wire_decoder.h"

#include <random>
#include <string>

#include "catch.h"
#include "wire_bytes.h"

using gpuprof::record::decode_records;
using gpuprof::record::DecodeCounts;
using gpuprof::test::WireBytes;

namespace {

struct RecordingSink final : gpuprof::backend::EventSink {
  void on_source(uint32_t, uint32_t, std::string_view) override {}
  void on_name(uint32_t, uint32_t id, std::string_view text) override {
    log += "name " + std::to_string(id) + " " + std::string(text) + "\n";
  }
  void on_device(uint32_t, uint32_t device, uint32_t name) override {
    log += "device " + std::to_string(device) + " " + std::to_string(name) + "\n";
  }
  void on_gpu_op(const gpuprof::backend::GpuOp& op) override {
    log += "op " + std::to_string(op.correlation) + " " + std::to_string(op.end_ns - op.start_ns) +
           (op.more ? " more\n" : "\n");
  }
  void on_launch(uint32_t, uint64_t correlation, uint32_t tid, std::string_view thread) override {
    log += "launch " + std::to_string(correlation) + " " + std::to_string(tid) + " " + std::string(thread) + "\n";
  }
  void on_meta(uint32_t, std::string_view text) override { log += "meta " + std::string(text) + "\n"; }
  void on_counters(uint32_t, uint64_t, const uint64_t (&)[16]) override {}
  void on_source_end(uint32_t) override {}
  std::string log;
};

}  // namespace

TEST_CASE("each record kind reaches its call") {
  WireBytes wire;
  wire.name(1, "void solve<float>(int)").kernel(7, 100, 350, 1);
  wire.add(GPUPROF_RECORD_DEVICE, gpuprof_device{{}, 2, 1});
  wire.add(GPUPROF_RECORD_LAUNCH, gpuprof_launch{{}, 8, 4242, 0, "worker"});
  wire.add(GPUPROF_RECORD_META, gpuprof_meta{{}, 7, 0}, "a=b;c=d");
  gpuprof_gpu_op node{};
  node.correlation = 9;
  node.start_ns = node.end_ns = 5;
  node.flags = GPUPROF_GPU_OP_MORE;
  wire.add(GPUPROF_RECORD_GPU_OP, node);

  RecordingSink sink;
  DecodeCounts counts;
  CHECK(decode_records(1, wire.bytes(), sink, counts) == wire.bytes().size());
  CHECK(sink.log ==
        "name 1 void solve<float>(int)\nop 7 250\ndevice 2 1\nlaunch 8 4242 worker\nmeta a=b;c=d\nop 9 0 more\n");
  CHECK(counts.records == 6);
  CHECK(counts.malformed == 0);
}

TEST_CASE("a thread name of sixteen bytes has no terminator") {
  gpuprof_launch launch{};
  std::memset(launch.thread, 'x', sizeof(launch.thread));
  WireBytes wire;
  wire.add(GPUPROF_RECORD_LAUNCH, launch);
  RecordingSink sink;
  DecodeCounts counts;
  decode_records(1, wire.bytes(), sink, counts);
  CHECK(sink.log == "launch 0 0 xxxxxxxxxxxxxxxx\n");
}

TEST_CASE("lies are counted and not followed") {
  RecordingSink sink;
  DecodeCounts counts;

  SECTION("a text longer than its record") {
    WireBytes wire;
    wire.add(GPUPROF_RECORD_NAME, gpuprof_name{{}, 1, 5000}, "abc").name(2, "next");
    decode_records(1, wire.bytes(), sink, counts);
    CHECK(sink.log == "name 2 next\n");
    CHECK(counts.malformed == 1);
  }
  SECTION("a record that ends before it starts, or an op that does not exist") {
    WireBytes wire;
    wire.kernel(1, 100, 99, 0);
    gpuprof_gpu_op op{};
    op.op = GPUPROF_OPS;
    wire.add(GPUPROF_RECORD_GPU_OP, op);
    decode_records(1, wire.bytes(), sink, counts);
    CHECK(sink.log.empty());
    CHECK(counts.malformed == 2);
  }
  SECTION("a size of zero, of no multiple of eight, past the end: the rest is lost and said so") {
    for (const uint32_t size : {0u, 4u, 12u, 4096u, 0xfffffff8u}) {
      WireBytes wire;
      wire.name(1, "first").name(2, "second");
      std::memcpy(wire.bytes().data() + 24 + offsetof(gpuprof_record, bytes), &size, sizeof(size));
      RecordingSink own;
      DecodeCounts own_counts;
      CHECK(decode_records(1, wire.bytes(), own, own_counts) == wire.bytes().size());
      CHECK(own.log == "name 1 first\n");
      CHECK(own_counts.malformed == 1);
    }
  }
  SECTION("an unknown type is skipped") {
    WireBytes wire;
    wire.add(999, gpuprof_device{{}, 0, 0}).name(3, "after");
    decode_records(1, wire.bytes(), sink, counts);
    CHECK(sink.log == "name 3 after\n");
    CHECK(counts.unknown == 1);
  }
}

TEST_CASE("random bytes never read out of bounds") {
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
