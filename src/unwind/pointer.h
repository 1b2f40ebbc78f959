// Decodes the encoded pointers of .eh_frame. Internal to src/unwind.
#pragma once

#include <cstdint>

#include "unwind/cursor.h"

namespace gpuprof::unwind {

// Parts of a DW_EH_PE_* encoding: the format in the low 4 bits, what the value is relative to in the next 3 bits, and
// the indirect bit.
inline constexpr uint8_t kOmit = 0xff;
inline constexpr uint8_t kFormat = 0x0f;
inline constexpr uint8_t kRelation = 0x70;
inline constexpr uint8_t kPcRelative = 0x10;
inline constexpr uint8_t kDataRelative = 0x30;
inline constexpr uint8_t kAligned = 0x50;
inline constexpr uint8_t kIndirect = 0x80;

struct Pointer {
  uint64_t value = 0;
  bool usable = false;  // false: the pointer was read, but its value cannot be computed
};

inline uint64_t read_value(Cursor& in, uint8_t format) {
  switch (format) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return in.number<uint64_t>();
    case 0x01:
      return in.uleb();
    case 0x02:
      return in.number<uint16_t>();
    case 0x03:
      return in.number<uint32_t>();
    case 0x09:
      return static_cast<uint64_t>(in.sleb());
    case 0x0a:
      return static_cast<uint64_t>(int64_t{in.number<int16_t>()});
    case 0x0b:
      return static_cast<uint64_t>(int64_t{in.number<int32_t>()});
    default:
      in.fail();
      return 0;
  }
}

// `data`: the address to which data-relative values are relative; 0 if unknown.
inline Pointer read_pointer(Cursor& in, uint8_t encoding, uint64_t data) {
  Pointer pointer;
  if (encoding == kOmit) {
    return pointer;
  }
  const uint8_t relation = encoding & kRelation;
  if (relation == kAligned) {
    in.skip((8 - in.address() % 8) % 8);
  }
  const uint64_t here = in.address();
  pointer.value = read_value(in, encoding & kFormat);
  pointer.usable = in.ok() && (encoding & kIndirect) == 0;
  switch (relation) {
    case 0x00:
    case kAligned:
      break;
    case kPcRelative:
      pointer.value += here;
      break;
    case kDataRelative:
      pointer.value += data;
      pointer.usable = pointer.usable && data != 0;
      break;
    default:
      pointer.usable = false;
  }
  return pointer;
}

}  // namespace gpuprof::unwind
