// A number that means something to its owner only: what a source calls a launch, a graph's node, a stream.
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

struct OwnedIdHash {
  size_t operator()(const OwnedId& id) const { return hash_of(id.number ^ (uint64_t{id.source} << 32U)); }
};

}  // namespace gpuprof::record
