#include "cupti/probes/lz4_block.h"

#include <cstdint>
#include <cstring>

namespace gpuprof::injection::cupti {
namespace {

// A length of 15 in the token continues in the next bytes, up to the first byte that is not 255.
bool read_length(const unsigned char*& at, const unsigned char* end, size_t* length) {
  if (*length != 15) {
    return true;
  }
  for (unsigned char more = 255; more == 255; ++at) {
    if (at == end) {
      return false;
    }
    more = *at;
    *length += more;
  }
  return true;
}

}  // namespace

size_t decompress_lz4(const unsigned char* block, size_t size, unsigned char* out, size_t most) {
  const unsigned char* at = block;
  const unsigned char* const end = block + size;
  size_t written = 0;
  while (at != end) {
    const unsigned char token = *at++;
    size_t literals = token >> 4;
    if (!read_length(at, end, &literals) || literals > static_cast<size_t>(end - at) || literals > most - written) {
      return SIZE_MAX;
    }
    memcpy(out + written, at, literals);
    written += literals;
    at += literals;
    if (at == end) {
      return written;  // the last sequence has no match
    }
    if (end - at < 2) {
      return SIZE_MAX;
    }
    const size_t distance = at[0] | static_cast<size_t>(at[1]) << 8;
    at += 2;
    size_t match = token & 15;
    if (!read_length(at, end, &match)) {
      return SIZE_MAX;
    }
    match += 4;
    if (distance == 0 || distance > written || match > most - written) {
      return SIZE_MAX;
    }
    for (; match != 0; --match, ++written) {  // bytewise, because a match may overlap the bytes that it makes
      out[written] = out[written - distance];
    }
  }
  return written;
}

}  // namespace gpuprof::injection::cupti
