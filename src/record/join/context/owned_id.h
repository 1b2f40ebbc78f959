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

struct OwnedIdHash {
  size_t operator()(const OwnedId& id) const { return hash_of(id.number ^ (uint64_t{id.source} << 32U)); }
};

}  // namespace gpuprof::record
