// Tests the building blocks of formats. Third-party programs read the formats themselves in test/runtime/export.
#include <string>
#include <utility>
#include <vector>

#include "base/text/text_stream.h"
#include "catch.h"
#include "output/export/gzip.h"
#include "output/export/perfetto.h"
#include "output/export/perfetto_stacks.h"
#include "output/export/pprof.h"
#include "output/export/protobuf.h"
#include "output/export/rows.h"
#include "output/export/sqlite.h"
#include "output/export/work_facts.h"
#include "profile/random_profile.h"
#include "profile/tables.h"
#include "profile/text_input.h"

using namespace gpuprof;
using output::Protobuf;

TEST_CASE("fields of a protocol buffer are encoded as its specification says") {
  std::string out;
  Protobuf message(out);
  message.number(1, 0);
  CHECK(out.empty());
  message.number(1, 150);
  CHECK(out == "\x08\x96\x01");
  out.clear();
  message.present(2, 0);
  CHECK(out == std::string("\x10\0", 2));
  out.clear();
  message.bytes(2, "testing");
  CHECK(out == "\x12\x07testing");
  out.clear();
  const uint64_t values[] = {3, 270, 86942};
  message.packed(6, values);
  CHECK(out == "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
  out.clear();
  message.number(16, UINT64_MAX);
  CHECK(out == "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST_CASE("text compressed by gzip is unpacked to the same text") {
  // The test reads the packed profile with the profile reader, which unpacks it.
  std::string profile = "GPUPROF;3.0\n";
  for (int i = 0; i < 100'000; ++i) {
    profile += "META;key;" + std::to_string(i * 7919) + "\n";
  }
  const std::string packed = collect_text([&](TextStream& out) {
    output::Gzip gzip(out);
    const size_t half = profile.size() / 2;
    gzip.append(profile.substr(0, half));
    gzip.append({});
    gzip.append(profile.substr(half));
    gzip.finish();
  });
  CHECK(packed.size() < profile.size() / 2);
  CHECK(packed.starts_with("\x1f\x8b\x08"));
  CHECK(test::rewritten(packed).size() == profile.size());
}

TEST_CASE("a failed stream ends the compression") {
  TextStream out([](std::string_view /*unused*/) { return Status(Error{"full"}); });
  output::Gzip gzip(out);
  std::string noise;
  for (uint32_t state = 1; noise.size() < 1'000'000;) {
    state = state * 1664525U + 1013904223U;
    noise += static_cast<char>(state >> 24U);
  }
  gzip.append(noise);
  gzip.append(noise);
  gzip.finish();
  CHECK_FALSE(out.finish());
}

namespace {

// Counts the events that a Perfetto trace takes from a profile, which may be damaged.
uint64_t exported_events(const std::string& profile) {
  auto reader = test::open_text(profile, true);
  if (!reader) {
    return 0;
  }
  const analyze::StackOptions stacks;
  profile::Tables tables;
  const auto trace = output::perfetto_trace(tables, stacks, [](std::string_view /*unused*/) { return Status(); });
  for (;;) {
    const auto next = reader->next();
    if (!next || !next->has_value()) {
      break;
    }
    if (!tables.add(**next)) {
      REQUIRE(trace->add(**next));
    }
  }
  REQUIRE(trace->finish());
  return trace->events();
}

}  // namespace

TEST_CASE("a Perfetto trace has every event of a random profile") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const test::RandomProfile random(seed);
    CHECK(exported_events(random.text) == random.events);
    exported_events(test::damaged(random.text, seed));
  }
}

TEST_CASE("a call stack of a Perfetto trace separates user and kernel frames like a flame graph") {
  auto reader = test::open_text(
      "GPUPROF;3.0\nSTRING;1;outer\nSTRING;2;ioctl\nFRAME;1;native;1;0;0;0;0;0\nFRAME;2;kernel;2;0;0;0;0;0\n"
      "USTACK;1;1\nKSTACK;1;2\n");
  REQUIRE(reader);
  profile::Tables tables;
  for (auto next = reader->next(); next && next->has_value(); next = reader->next()) {
    REQUIRE(!tables.add(**next));
  }
  analyze::WalkFrames frames(tables, {});
  output::perfetto::Interned interned(frames);
  CHECK(interned.call_stack({}) == 0);
  CHECK(interned.call_stack({.ustack = profile::StackId{1}, .kstack = profile::StackId{1}}) == 1);
  const std::string written = interned.take();
  const size_t user = written.find("outer");
  const size_t separator = written.find('-', user);
  CHECK(user < separator);
  CHECK(separator < written.find("ioctl", separator));
  CHECK(written.find("ioctl", separator) != std::string::npos);
}

TEST_CASE("a Perfetto trace that cannot be written is an error") {
  const test::RandomProfile random(1);
  auto reader = test::open_text(random.text);
  REQUIRE(reader);
  const analyze::StackOptions stacks;
  profile::Tables tables;
  const auto trace =
      output::perfetto_trace(tables, stacks, [](std::string_view /*unused*/) { return Status(Error{"full"}); });
  Status status;
  for (auto next = reader->next(); status && next && next->has_value(); next = reader->next()) {
    if (!tables.add(**next)) {
      status = trace->add(**next);
    }
  }
  if (status) {
    status = trace->finish();
  }
  CHECK(!status == (random.events > 0));
}

TEST_CASE("a profile whose weights exceed the signed 64 bits of pprof is rejected") {
  auto reader = test::open_text(
      "GPUPROF;3.0\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\nGPU;0;1;1;9223372036854775807;9223372036854775807;"
      "9223372036854775807;0;0;0\n");
  REQUIRE(reader);
  auto rows = analyze::aggregate(*reader, {.queue = true});
  REQUIRE(rows);
  analyze::Walk walk(*rows, {});
  CHECK(output::fits_pprof(walk));
  rows->total.ns += 1;
  CHECK_FALSE(output::fits_pprof(analyze::Walk(*rows, {})));
}

namespace {

std::string profile_of_devices(size_t count, size_t name_bytes) {
  std::string text = "GPUPROF;3.0\n";
  for (size_t i = 1; i <= count; ++i) {
    const std::string id = std::to_string(i);
    text += "STRING;" + id + ";" + std::string(name_bytes, 'n') + id + "\n";
    text += "DEVICE;" + id + ";0;" + id + ";" + id + ";0\n";
  }
  for (size_t i = 0; i < 2 * count; ++i) {
    const std::string id = std::to_string(i + 1);
    text += "WORK;" + id + ";0;0;0;0;0;0;0;" + std::to_string(i % count + 1) + ";7;kernel;0;0\n";
    text += "GPU;0;" + id + ";1;5;5;5;25;0;0\n";
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

}  // namespace

TEST_CASE("rows have the names of their devices, even beyond the capacity of the name cache") {
  constexpr size_t kDevices = 300;
  // This is longer than a name that is shown, and 300 such names exceed the cache.
  constexpr size_t kNameBytes = size_t{100} << 10U;
  static_assert(kDevices * (size_t{64} << 10U) > output::FactTexts::kMostBytes);
  auto reader = test::open_text(profile_of_devices(kDevices, kNameBytes));
  REQUIRE(reader);
  const auto rows = analyze::aggregate(*reader, {.queue = true});
  REQUIRE(rows);
  analyze::Walk walk(*rows, {});
  const auto lines = lines_of(collect_text([&](TextStream& out) { output::write_csv(walk, out); }));
  REQUIRE(lines.size() == 2 + 2 * kDevices);  // the header, a note that END is missing, and the rows
  for (size_t i = 0; i < 2 * kDevices; ++i) {
    INFO("row " << i);
    CHECK(lines[i + 2].find(",device " + std::to_string(i % kDevices + 1) + " nnn") != std::string::npos);
  }
}

TEST_CASE("a database that would be too large is an error with that reason") {
  std::string text = "GPUPROF;3.0\nSTRING;1;f\nFRAME;1;native;1;0;0;0;0;0x10\n";
  constexpr size_t kStacks = 500;
  for (size_t i = 1; i <= kStacks; ++i) {
    const std::string id = std::to_string(i);
    text += "USTACK;" + id;
    for (size_t frame = 0; frame < 20 + i % 7; ++frame) {
      text += ";1";
    }
    text += "\nWORK;" + id + ";0;0;0;" + id + ";0;0;0;0;0;kernel;1;0\nGPU;0;" + id + ";1;5;5;5;25;0;0\n";
  }
  auto reader = test::open_text(text);
  REQUIRE(reader);
  const auto rows = analyze::aggregate(*reader, {.queue = true});
  REQUIRE(rows);
  analyze::Walk walk(*rows, {});
  size_t pages = 0;
  REQUIRE(output::with_sqlite(walk, output::kMostPages, [&pages](std::string_view bytes) {
    pages = bytes.size() / 4096;
    return Status();
  }));
  REQUIRE(pages > 40);
  for (size_t most = 1; most < pages; ++most) {
    INFO(most << " pages of " << pages);
    const Status made = output::with_sqlite(walk, most, [](std::string_view /*unused*/) { return Status(); });
    REQUIRE_FALSE(made);
    CHECK(made.error().message == "cannot make the database: database or disk is full");
    CHECK(made.error().hint.find("512 MiB") != std::string::npos);
  }
  CHECK(output::with_sqlite(walk, pages, [](std::string_view /*unused*/) { return Status(); }));
}
