#include "record/ipc/handshake.h"

#include <array>
#include <cstring>
#include <string>

#include "catch.h"

using gpuprof::record::CodeHash;
using gpuprof::record::Hello;
using gpuprof::record::HelloFault;
using gpuprof::record::parse_code_offer;
using gpuprof::record::parse_hello;

namespace {

const std::string kToken = "0123456789abcdef0123456789abcdef";

gpuprof_hello valid() {
  gpuprof_hello hello{};
  hello.magic = GPUPROF_WIRE_MAGIC;
  hello.version = GPUPROF_WIRE_VERSION;
  std::memcpy(hello.token, kToken.data(), sizeof(hello.token));
  std::strcpy(hello.backend, "cupti");
  hello.python.version = 0x030c0000;
  return hello;
}

Hello parse(const gpuprof_hello& hello, const std::string& token = kToken) {
  return parse_hello(std::as_bytes(std::span(&hello, 1)), token);
}

}  // namespace

TEST_CASE("the fields of a valid hello are parsed") {
  const Hello hello = parse(valid());
  CHECK(hello.fault == HelloFault::none);
  CHECK(hello.backend == "cupti");
  CHECK(hello.python.version == 0x030c0000);
}

TEST_CASE("a hello must have the exact size") {
  const gpuprof_hello hello = valid();
  std::array<std::byte, sizeof(hello) + 1> bytes{};
  std::memcpy(bytes.data(), &hello, sizeof(hello));
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const HelloFault expected = size == sizeof(hello) ? HelloFault::none : HelloFault::size;
    CHECK(parse_hello(std::span(bytes).first(size), kToken).fault == expected);
  }
}

TEST_CASE("each invalid field of a hello is detected") {
  gpuprof_hello hello = valid();
  hello.magic = 1;
  CHECK(parse(hello).fault == HelloFault::not_ours);
  hello = valid();
  ++hello.version;
  CHECK(parse(hello).fault == HelloFault::version);
  for (size_t i = 0; i < sizeof(hello.token); ++i) {
    hello = valid();
    hello.token[i] ^= 1;
    CHECK(parse(hello).fault == HelloFault::token);
    CHECK(parse(hello).backend.empty());
  }
}

TEST_CASE("a recorder without a token rejects every hello") {
  gpuprof_hello hello = valid();
  CHECK(parse(hello, "").fault == HelloFault::token);
  std::memset(hello.token, 0, sizeof(hello.token));
  CHECK(parse(hello, "").fault == HelloFault::token);
}

TEST_CASE("the backend of a hello must be a terminated lower-case word") {
  for (const char* bad : {"", "two words", "a;b", "a\nb", "\x1b[31m", "Upper", "\xff"}) {
    gpuprof_hello hello = valid();
    std::memset(hello.backend, 0, sizeof(hello.backend));
    std::strcpy(hello.backend, bad);
    CHECK(parse(hello).fault == HelloFault::backend);
    CHECK(parse(hello).backend.empty());
  }
  gpuprof_hello hello = valid();
  std::memset(hello.backend, 'a', sizeof(hello.backend));
  CHECK(parse(hello).fault == HelloFault::backend);
  hello.backend[sizeof(hello.backend) - 1] = '\0';
  CHECK(parse(hello).backend == std::string(15, 'a'));
}

TEST_CASE("an offer of code is parsed completely or rejected") {
  gpuprof_code_offer valid{GPUPROF_CODE_MAGIC, GPUPROF_WIRE_VERSION, {}, 3,
                           GPUPROF_CODE_ZEBIN, 1ULL << 40,           5,  {{6, 7}}};
  std::memcpy(valid.token, kToken.data(), sizeof(valid.token));
  const auto parsed = [](const gpuprof_code_offer& offer, const std::string& token = kToken) {
    return parse_code_offer(std::as_bytes(std::span(&offer, 1)), token);
  };
  const auto offer = parsed(valid);
  REQUIRE(offer);
  CHECK(offer->source == 3);
  CHECK(offer->kind == GPUPROF_CODE_ZEBIN);
  CHECK(offer->module == 1ULL << 40);
  CHECK(offer->bytes == 5);
  CHECK(offer->hash == CodeHash{6, 7});
  CHECK_FALSE(parsed(valid, ""));
  for (uint32_t gpuprof_code_offer::*field :
       {&gpuprof_code_offer::magic, &gpuprof_code_offer::version, &gpuprof_code_offer::kind}) {
    gpuprof_code_offer bad = valid;
    bad.*field += GPUPROF_CODE_KINDS;
    CHECK_FALSE(parsed(bad));
  }
  gpuprof_code_offer bad = valid;
  bad.kind = 0;
  CHECK_FALSE(parsed(bad));
  bad = valid;
  ++bad.token[31];
  CHECK_FALSE(parsed(bad));
  const auto bytes = std::as_bytes(std::span(&valid, 1));
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(parse_code_offer(bytes.first(size), kToken));
  }
}
