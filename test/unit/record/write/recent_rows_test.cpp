#include "record/write/recent_rows.h"

#include <memory>
#include <string>

#include "catch.h"
#include "profile/writer.h"

namespace p = gpuprof::profile;
using gpuprof::record::MemoryBudget;
using gpuprof::record::RecentRows;
using gpuprof::record::Rewrite;

namespace {

constexpr uint64_t kStart = 1000;
constexpr uint64_t kSlice = 100;

struct RowsRig {
  RecentRows rows{kStart, kSlice, 2 * kSlice, "--last 200 ns", std::make_shared<MemoryBudget>()};

  void add(const p::Record& record, uint64_t now_ns = kStart) {
    std::string line;
    p::format_line(record, line);
    rows.add(record, line, now_ns);
  }
  // Returns the text without its first line.
  std::string write(Rewrite& order) {
    std::string text;
    rows.write(order, text);
    return text.substr(text.find('\n') + 1);
  }
};

p::Gpu gpu(uint64_t slice, uint32_t work, uint64_t count, uint64_t ns) {
  return {.slice = slice, .work = p::WorkId{work}, .count = count, .sum_ns = ns};
}

}  // namespace

TEST_CASE("old slices are forgotten, definitions are not") {
  RowsRig rig;
  rig.add(p::String{p::StringId{1}, "kernel"});
  rig.add(p::Work{.id = p::WorkId{1}, .ustack = p::StackId{1}, .op = p::Op::kernel, .name = p::StringId{1}});
  rig.add(p::Work{.id = p::WorkId{2}, .op = p::Op::kernel, .name = p::StringId{1}});
  for (uint64_t slice = 0; slice < 5; ++slice) {
    rig.add(gpu(slice, 1, 2, 10));
    rig.add(gpu(slice, 2, 1, 7));
  }
  rig.rows.forget(kStart + 5 * kSlice);
  rig.add(gpu(2, 1, 100, 100));  // too late
  Rewrite order;
  order.end_ns = kStart + 5 * kSlice;
  order.window_ns = kStart;
  const std::string text = rig.write(order);
  CHECK(text.starts_with("STRING;1;kernel\nWORK;1;"));
  CHECK(text.find("GPU;2;") == std::string::npos);
  CHECK(text.find("GPU;3;1;2;10;") != std::string::npos);
  CHECK(text.ends_with("WINDOW;1300;1500\nEND;1500;6;6;34;4;0;0\n"));
  CHECK(order.begin_ns == kStart + 3 * kSlice);
}

TEST_CASE("a file has the slices of its time") {
  RowsRig rig;
  for (uint64_t slice = 0; slice < 4; ++slice) {
    rig.add(gpu(slice, 1, 1, 10));
    rig.add(p::Share{.slice = slice, .work = p::WorkId{1}, .busy_ns = 10, .exclusive_ns = 10});
  }
  rig.add(p::Window{kStart + 20, kStart + 150});
  Rewrite order;
  order.from_ns = kStart + kSlice + 1;
  order.until_ns = kStart + 3 * kSlice;
  order.window_ns = kStart + 210;
  order.end_ns = kStart + 380;
  SECTION("with busy times") {
    const std::string text = rig.write(order);
    CHECK(text.find("GPU;0;") == std::string::npos);
    CHECK(text.find("GPU;1;") != std::string::npos);
    CHECK(text.find("SHARE;2;") != std::string::npos);
    CHECK(text.find("GPU;3;") == std::string::npos);
    CHECK(text.ends_with("WINDOW;1100;1150\nWINDOW;1210;1300\nEND;1300;2;2;20;0;0;0\n"));
  }
  SECTION("without busy times") {
    order.is_swept = false;
    CHECK(rig.write(order).find("SHARE") == std::string::npos);
  }
  SECTION("and goes on") {
    order.is_complete = false;
    order.recording = "new";
    rig.add(p::Meta{"recording", "old"});
    const std::string text = rig.write(order);
    CHECK(text.starts_with("META;recording;new\n"));
    CHECK(text.find("META;recording;old") == std::string::npos);
    CHECK(text.find("END") == std::string::npos);
  }
}

TEST_CASE("a gap that goes on at the end of a file is idle time without later work") {
  RowsRig rig;
  const p::DeviceId device{4};
  rig.add(p::Work{.id = p::WorkId{1}, .device = device, .op = p::Op::kernel});
  rig.add(gpu(0, 1, 1, 30));
  rig.add(p::Share{.slice = 0, .work = p::WorkId{1}, .busy_ns = 30, .exclusive_ns = 30});
  rig.add(p::Idle{.slice = 0, .device = device, .work = p::WorkId{1}, .ns = 20});
  Rewrite order;
  order.until_ns = kStart + 3 * kSlice;
  order.window_ns = kStart;
  order.end_ns = kStart + 350;
  const std::string text = rig.write(order);
  CHECK(text.find("IDLE;0;4;0;50\nIDLE;1;4;0;100\nIDLE;2;4;0;100\nWINDOW;1000;1300\n") != std::string::npos);
}

TEST_CASE("losses are in the file of their time") {
  RowsRig rig;
  rig.add(p::Work{.id = p::WorkId{1}, .process = p::ProcessId{3}, .op = p::Op::no_work});
  rig.add(p::Host{.slice = 0, .work = p::WorkId{1}, .count = 5});
  rig.add(p::Host{.slice = 3, .work = p::WorkId{1}, .count = 2});
  rig.add(p::Loss{p::ProcessId{3}, "ring_full", 4}, kStart + 3 * kSlice);
  CHECK_FALSE(RecentRows::takes(p::Coverage{p::ProcessId{3}, "launches", 9}));
  Rewrite order;
  order.from_ns = kStart + 3 * kSlice;
  const std::string text = rig.write(order);
  CHECK(text.find("COVERAGE;3;without_record;2\n") != std::string::npos);
  CHECK(text.find("LOSS;3;ring_full;4\n") != std::string::npos);
  CHECK(order.sums.lost == 4);
}

TEST_CASE("a file says which option left out rows") {
  RowsRig rig;
  rig.add(gpu(0, 1, 1, 10));
  rig.add(gpu(1, 1, 1, 10));
  Rewrite whole;
  CHECK(rig.write(whole).find("recording.window") == std::string::npos);
  rig.add(p::Meta{"recording", "id"});
  CHECK(rig.write(whole).find("META;recording;id\n") != std::string::npos);
  Rewrite part;
  part.until_ns = kStart + kSlice;
  CHECK(rig.write(part).find("META;recording.window;--last 200 ns\n") != std::string::npos);
  CHECK(rig.write(part).find("META;recording.part;id\n") != std::string::npos);
  CHECK(rig.write(part).find("META;recording;id\n") == std::string::npos);
  rig.add(p::Meta{"recording.window", "--delay 2 s"});
  Rewrite both;
  CHECK(rig.write(both).find("META;recording.window;--delay 2 s\n") != std::string::npos);
  Rewrite rest;
  rest.from_ns = kStart + kSlice;
  CHECK(rig.write(rest).find("META;recording.window;--delay 2 s --last 200 ns\n") != std::string::npos);
}

TEST_CASE("a file of a rotation says which part of which recording it is") {
  RowsRig rig;
  rig.add(p::Meta{"recording", "all"});
  rig.add(gpu(0, 1, 1, 10));
  rig.add(gpu(2, 1, 1, 10));
  const auto head = [&rig](uint64_t from, uint64_t until_ns, bool is_complete) {
    Rewrite order;
    order.from_ns = kStart + from * kSlice;
    order.until_ns = until_ns;
    order.recording = "part";
    order.is_complete = is_complete;
    const std::string text = rig.write(order);
    CHECK(text.find("recording.window") == std::string::npos);
    return text.substr(0, text.find('\n', text.find("recording.rotation")));
  };
  CHECK(head(0, kStart + 2 * kSlice, true) == "META;recording;part\nMETA;recording.rotation;all 0 200");
  CHECK(head(2, UINT64_MAX, false) == "META;recording;part\nMETA;recording.rotation;all 200 -");
  CHECK(head(2, UINT64_MAX, true) == "META;recording;part\nMETA;recording.rotation;all 200 end");
}
