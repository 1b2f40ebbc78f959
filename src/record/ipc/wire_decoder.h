// Decodes wire records (wire/wire.h) into calls of an EventSink. The bytes come from a target and are untrusted: every
// size is validated, and invalid records are counted and skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "backend/event_sink.h"
#include "wire/stack.h"

namespace gpuprof::record {

struct DecodeCounts {
  uint64_t records = 0;
  uint64_t unknown = 0;
  uint64_t malformed = 0;  // records of known types with invalid sizes or values
};

// Decodes the complete records at the front of `bytes`, and returns how many bytes they take. Stops at a record that
// ends later than `bytes`, and at an invalid size (0 or not a multiple of 8).
size_t decode_records(backend::SourceId source, std::span<const std::byte> bytes, backend::EventSink& sink,
                      DecodeCounts& counts);

// Calls `take` with the id and text of each valid NAME record in `bytes`.
void decode_names(std::span<const std::byte> bytes, const std::function<void(uint32_t, std::string_view)>& take);

// Returns whether a layout from a hello or a PYTHON record is valid. Offsets are not limited, so a reader must check
// every address that it computes from them. They refer to memory of the process that sent them.
bool is_python_layout(const gpuprof_python_layout& layout);

}  // namespace gpuprof::record
