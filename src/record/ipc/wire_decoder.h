// Decodes wire records (wire/wire.h) into calls of an EventSink. The bytes come from a target and are hostile:
// every size is checked, and what does not fit is counted, never followed.
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
  uint64_t unknown = 0;    // of types that this version does not know
  uint64_t malformed = 0;  // of a known type, but with sizes or values that can not be
};

// Decodes whole records from the front of `bytes` and returns how many bytes they took. A record header that can
// not be true (size 0, not a multiple of 8, past the end) makes it return bytes.size() after counting one
// malformed record: where the next record starts is then unknowable.
size_t decode_records(backend::SourceId source, std::span<const std::byte> bytes, backend::EventSink& sink,
                      DecodeCounts& counts);

// The names among the same bytes, with their ids. What decode_records() refuses is left out.
void decode_names(std::span<const std::byte> bytes, const std::function<void(uint32_t, std::string_view)>& take);

// Whether a layout, of a hello or a PYTHON record, is of a Python and can be true. Its offsets are bounded by their
// types alone: whoever follows them reads the memory of the process that sent them, and must check each read.
bool is_python_layout(const gpuprof_python_layout& layout);

}  // namespace gpuprof::record
