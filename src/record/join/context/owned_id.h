// An id that is unique only within one source: a correlation id, a graph node, a graph or a stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"

namespace gpuprof::record {

struct OwnedId {
  uint32_t source;
  uint64_t number;
  bool operator==(const OwnedId&) const = default;
};

// Neighbouring ids get neighbouring hashes, so their buckets share cache lines: vendors number launches in order.
struct OwnedIdHash {
  size_t operator()(const OwnedId& id) const {
    constexpr unsigned kBlockBits = 8;
    constexpr uint64_t kInBlock = (uint64_t{1} << kBlockBits) - 1;
    return hash_of((id.number >> kBlockBits) ^ (uint64_t{id.source} << 32U)) + (id.number & kInBlock);
  }
};

}  // namespace gpuprof::record
