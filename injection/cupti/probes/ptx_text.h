#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::injection::cupti {

// Text of PTX from malloc. The owner frees it.
struct PtxText {
  char* text;    // ends with NUL
  size_t bytes;  // without the NUL
};

// An architecture has variants: code of sm_90a runs only on sm_90, and code of sm_100f only on devices of its family.
enum class ArchVariant : uint8_t { none, exact, family };

// The values of the directives .version, .target and .address_size.
struct PtxHeader {
  uint32_t version;  // 900 for 9.0, 602 for 6.2
  uint32_t arch;
  ArchVariant variant;
  bool debug;  // compiled with -G
  bool has_64_bits;
};

// Returns whether the text begins with a valid header.
bool read_header(const char* text, size_t bytes, PtxHeader* header);

}  // namespace gpuprof::injection::cupti
