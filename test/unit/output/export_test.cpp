// Bytes of what formats are made of; the formats themselves are read by programs that are not ours, in
// test/runtime/export.
#include <string>

#include "base/text_stream.h"
#include "catch.h"
#include "output/export/gzip.h"
#include "output/export/protobuf.h"
#include "profile/text_input.h"

using namespace gpuprof;
using output::Protobuf;

TEST_CASE("fields of a protocol buffer") {
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

TEST_CASE("what gzip has compressed is what was given to it") {
  // Read again as a profile is, which is unpacked on its way.
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

TEST_CASE("a failed stream ends the compressing") {
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
