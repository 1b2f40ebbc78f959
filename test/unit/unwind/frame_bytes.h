// Builds call frame information byte by byte, and reads its rules.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "unwind/cfi.h"

namespace gpuprof::unwind {

class FrameBytes {
 public:
  FrameBytes& u8(unsigned value) {
    bytes.push_back(static_cast<uint8_t>(value));
    return *this;
  }
  FrameBytes& u16(uint16_t value) { return raw(&value, sizeof value); }
  FrameBytes& u32(uint32_t value) { return raw(&value, sizeof value); }
  FrameBytes& u64(uint64_t value) { return raw(&value, sizeof value); }
  FrameBytes& text(const std::string& value) { return raw(value.c_str(), value.size() + 1); }
  FrameBytes& uleb(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      u8(0x80 | (value & 0x7f));
    }
    return u8(static_cast<unsigned>(value));
  }
  FrameBytes& sleb(int64_t value) {
    while (value < -64 || value > 63) {
      u8(0x80 | (value & 0x7f));
      value >>= 7;
    }
    return u8(value & 0x7f);
  }
  FrameBytes& all(const std::vector<uint8_t>& values) { return raw(values.data(), values.size()); }

  // Begins an entry. end() fills in its length.
  FrameBytes& begin(bool wide = false) {
    wide_ = wide;
    if (wide) {
      u32(UINT32_MAX);
    }
    length_at_ = bytes.size();
    return wide ? u64(0) : u32(0);
  }
  FrameBytes& end() {
    const uint64_t size = bytes.size() - length_at_ - (wide_ ? 8 : 4);
    std::memcpy(bytes.data() + length_at_, &size, wide_ ? 8 : 4);
    return *this;
  }

  // The usual CIE of x86-64, at offset 0: CFA = rsp + 8, return address at CFA - 8, pointers in `encoding`.
  FrameBytes& usual_cie(uint8_t encoding = 0x04, const std::string& augmentation = "zR") {
    begin().u32(0).u8(1).text(augmentation).uleb(1).sleb(-8).u8(16).uleb(1).u8(encoding);
    return all({0x0c, 7, 8, 0x90, 1}).end();
  }
  // Adds a function with plain 64-bit pointers whose CIE is at offset 0.
  FrameBytes& function(uint64_t begin_at, uint64_t size, const std::vector<uint8_t>& instructions) {
    begin();
    return u32(static_cast<uint32_t>(bytes.size())).u64(begin_at).u64(size).uleb(0).all(instructions).end();
  }

  std::vector<uint8_t> bytes;

 private:
  FrameBytes& raw(const void* from, size_t size) {
    const auto* first = static_cast<const uint8_t*>(from);
    bytes.insert(bytes.end(), first, first + size);
    return *this;
  }

  bool wide_ = false;
  size_t length_at_ = 0;
};

using Rules = std::vector<std::pair<uint64_t, uint64_t>>;

class Collector final : public RuleSink {
 public:
  void on_rule(uint64_t pc, uint64_t rule) override { rules.emplace_back(pc, rule); }
  Rules rules;
};

// Returns the rules of a section. Stores in `whole` (unless null) whether read_section() could read all of it.
inline Rules rules_of(const std::vector<uint8_t>& bytes, Section kind = Section::eh_frame, bool* whole = nullptr,
                      uint64_t address = 0x1000) {
  // The copy has the exact size, so that a sanitizer detects any read beyond the end.
  const std::vector<uint8_t> exact(bytes);
  Collector collector;
  const bool result = read_section({exact.data(), exact.size(), address}, kind, collector);
  if (whole != nullptr) {
    *whole = result;
  }
  return collector.rules;
}

constexpr uint64_t sp_rule(int64_t cfa) {
  return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_SAME, cfa, 0);
}
constexpr uint64_t sp_rule(int64_t cfa, int64_t fp) {
  return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_AT_CFA, cfa, fp);
}
constexpr uint64_t fp_rule_at(int64_t cfa, int64_t fp) {
  return GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_FP, GPUPROF_UNWIND_FP_AT_CFA, cfa, fp);
}
constexpr uint64_t kNoRule = GPUPROF_UNWIND_NONE;
constexpr uint64_t kEnd = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_END, 0, 0, 0);
constexpr uint64_t kSignal = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SIGNAL, 0, 0, 0);
constexpr uint64_t kPlt = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_PLT, 0, 0, 0);

}  // namespace gpuprof::unwind
