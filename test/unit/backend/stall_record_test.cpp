#include "backend/drm/stalls/stall_record.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "catch.h"

using namespace gpuprof::backend::drm;

namespace {

using Bytes = std::array<unsigned char, 64>;

StallRecord decode(StallLayout layout, const Bytes& bytes) {
  const auto decoded = decode_stall(layout, std::as_bytes(std::span(bytes)));
  REQUIRE(decoded);
  return *decoded;
}

std::array<uint8_t, kStalls> counts(std::initializer_list<std::pair<Stall, uint8_t>> list) {
  std::array<uint8_t, kStalls> all{};
  for (const auto& [stall, count] : list) {
    all[static_cast<size_t>(stall)] = count;
  }
  return all;
}

}  // namespace

// The 8-bit counts begin at bit 29, so the lower three bits of a count are the upper three bits of a byte.
TEST_CASE("a record of Ponte Vecchio is decoded") {
  // address 0x12345678 = 0x2468acf << 3; active 1, other 2, control 3, pipestall 4, send 5, dist_acc 6, sbid 255, sync
  // 8, inst_fetch 9. The rest is ignored.
  const Bytes bytes = {0xcf, 0x8a, 0x46, 0x22, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0, 0x1f, 0x21, 0xe1, 0xff};
  const StallRecord record = decode(StallLayout::pvc, bytes);
  CHECK(record.address == 0x12345678);
  CHECK(record.counts == counts({{Stall::active, 1},
                                 {Stall::other, 2},
                                 {Stall::control, 3},
                                 {Stall::pipestall, 4},
                                 {Stall::send, 5},
                                 {Stall::dist_acc, 6},
                                 {Stall::sbid, 255},
                                 {Stall::sync, 8},
                                 {Stall::inst_fetch, 9}}));
  CHECK(record.samples() == 1 + 2 + 3 + 4 + 5 + 6 + 255 + 8 + 9);
}

TEST_CASE("a record of Xe2, whose counts have another order, is decoded") {
  // Bits as on Ponte Vecchio: tdr 1, other 2, ..., inst_fetch 9, active 10. The id 5 and the end flag are ignored.
  const Bytes bytes = {0xcf, 0x8a, 0x46, 0x22, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0, 0x00, 0x21, 0x41, 0xa1, 0x01};
  const StallRecord record = decode(StallLayout::xe2, bytes);
  CHECK(record.address == 0x12345678);
  CHECK(record.counts == counts({{Stall::tdr, 1},
                                 {Stall::other, 2},
                                 {Stall::control, 3},
                                 {Stall::pipestall, 4},
                                 {Stall::send, 5},
                                 {Stall::dist_acc, 6},
                                 {Stall::sbid, 7},
                                 {Stall::sync, 8},
                                 {Stall::inst_fetch, 9},
                                 {Stall::active, 10}}));
}

TEST_CASE("a record of Xe3p, whose address has 64 bits, is decoded") {
  // address 0x00007f1234567890 = 0x00000fe2468acf12 << 3; the counts begin at bit 61.
  const Bytes bytes = {0x12, 0xcf, 0x8a, 0x46, 0xe2, 0x0f, 0x00, 0x20, 0x40, 0x60,
                       0x80, 0xa0, 0xc0, 0xe0, 0x00, 0x21, 0x41, 0xa1, 0x01};
  const StallRecord record = decode(StallLayout::xe3p, bytes);
  CHECK(record.address == 0x00007f1234567890);
  CHECK(record.counts == counts({{Stall::tdr, 1},
                                 {Stall::other, 2},
                                 {Stall::control, 3},
                                 {Stall::pipestall, 4},
                                 {Stall::send, 5},
                                 {Stall::dist_acc, 6},
                                 {Stall::sbid, 7},
                                 {Stall::sync, 8},
                                 {Stall::inst_fetch, 9},
                                 {Stall::active, 10}}));
}

TEST_CASE("every count has its own bits, in each layout") {
  for (const StallLayout layout : {StallLayout::pvc, StallLayout::xe2, StallLayout::xe3p}) {
    const size_t used = layout == StallLayout::pvc ? 9 : 10;
    const size_t first = layout == StallLayout::xe3p ? 61 : 29;
    std::array<bool, kStalls> seen{};
    for (size_t i = 0; i < used; ++i) {
      Bytes bytes{};
      for (size_t bit = first + 8 * i; bit < first + 8 * i + 8; ++bit) {
        bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] | (1U << (bit % 8)));
      }
      const StallRecord record = decode(layout, bytes);
      CHECK(record.address == 0);
      CHECK(record.samples() == 255);
      for (size_t stall = 0; stall < kStalls; ++stall) {
        seen[stall] = seen[stall] || record.counts[stall] == 255;
      }
    }
    CHECK(static_cast<size_t>(std::count(seen.begin(), seen.end(), true)) == used);
  }
}

TEST_CASE("a record that is too short is rejected") {
  const Bytes bytes{};
  const auto all = std::as_bytes(std::span(bytes));
  CHECK(least_record_bytes(StallLayout::pvc) == 13);
  CHECK(least_record_bytes(StallLayout::xe2) == 14);
  CHECK(least_record_bytes(StallLayout::xe3p) == 18);
  for (const StallLayout layout : {StallLayout::pvc, StallLayout::xe2, StallLayout::xe3p}) {
    CHECK_FALSE(decode_stall(layout, {}));
    CHECK_FALSE(decode_stall(layout, all.first(least_record_bytes(layout) - 1)));
    CHECK(decode_stall(layout, all.first(least_record_bytes(layout))));
  }
}

TEST_CASE("the IP version of a GT selects the record layout") {
  CHECK(stall_layout(0) == StallLayout::pvc);
  CHECK(stall_layout(12) == StallLayout::pvc);
  CHECK(stall_layout(20) == StallLayout::xe2);
  CHECK(stall_layout(30) == StallLayout::xe2);
  CHECK(stall_layout(35) == StallLayout::xe3p);
}

TEST_CASE("stall reasons have the names of the published form") {
  CHECK(stall_name(Stall::active) == "active");
  CHECK(stall_name(Stall::inst_fetch) == "inst_fetch");
  CHECK(stall_name(Stall::tdr) == "tdr");
}
