#include "base/files/packed_input.h"

#include <zlib.h>
#include <zstd.h>

#include <string>

#include "catch.h"

using namespace gpuprof;

namespace {

std::string gzipped(const std::string& text) {
  z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string zstded(const std::string& text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

// Unpacks in pieces of `piece` bytes. After an error, returns the text read so far, "|", and the error message.
std::string unpacked(const std::string& packed, size_t piece = 100) {
  PackedInput input(packed);
  std::string text;
  std::string part(piece, '\0');
  for (;;) {
    const auto n = input.read(-1, part.data(), part.size());
    if (!n) {
      return text + "|" + n.error().message;
    }
    if (*n == 0) {
      return text;
    }
    text.append(part, 0, *n);
  }
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 50'000; ++i) {
    text += std::to_string(i * 7919) + ";";
  }
  return text;
}

}  // namespace

TEST_CASE("gzip and zstd are recognized by their first bytes") {
  CHECK(PackedInput::knows("\x1f\x8b\x08"));
  CHECK(PackedInput::knows("\x28\xb5\x2f\xfd\x04"));
  CHECK_FALSE(PackedInput::knows("GPUPROF;3.0"));
  CHECK_FALSE(PackedInput::knows("\x1f"));
  CHECK_FALSE(PackedInput::knows(""));
}

TEST_CASE("packed text is unpacked, in pieces of any size") {
  const std::string text = long_text();
  for (const std::string& packed : {gzipped(text), zstded(text)}) {
    CHECK(unpacked(packed, 1 << 20) == text);
    CHECK(unpacked(packed, 1000) == text);
  }
  CHECK(unpacked(gzipped(""), 10).empty());
  CHECK(unpacked(zstded(""), 10).empty());
  CHECK(unpacked(gzipped("abc"), 1) == "abc");
  CHECK(unpacked(zstded("abc"), 1) == "abc");
}

TEST_CASE("several concatenated packed pieces are one text") {
  CHECK(unpacked(gzipped("one ") + gzipped("") + gzipped("two")) == "one two");
  CHECK(unpacked(zstded("one ") + zstded("") + zstded("two")) == "one two");
}

TEST_CASE("truncated or damaged packed data is an error") {
  for (const auto& [packed, name] :
       {std::pair{gzipped("some text, some text"), "gzip"}, std::pair{zstded("some text, some text"), "zstd"}}) {
    for (size_t size = 4; size < packed.size(); ++size) {
      const std::string result = unpacked(packed.substr(0, size));
      CHECK(result.ends_with(std::string("|its ") + name + " data is cut short"));
    }
    CHECK(unpacked(packed + "garbage").ends_with(std::string("|its ") + name + " data is damaged"));
  }
  std::string changed = gzipped(long_text());
  changed[changed.size() / 2] ^= 0x55;
  CHECK(unpacked(changed).find("|its gzip data is ") != std::string::npos);
  CHECK(unpacked("\x1f\x8b\x08 ...").find("|its gzip data is ") != std::string::npos);
}
