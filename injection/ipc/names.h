// Interns texts: gives each text one id per source.
#pragma once

#include "wire/wire.h"

namespace gpuprof::injection {

// Returns a text's id, and emits a NAME record at its first use. Ids are per source. 0: failure (counted).
uint32_t intern(gpuprof_segment* segment, const char* text, size_t length);

// Returns how many bytes of `text` are sent: all, or (in a text that is cut and ends in "...") as many complete UTF-8
// characters as fit.
size_t cut_length(const char* text, size_t length);

// Forgets all texts, for a new source. No other thread may be in intern().
void reset_names();

}  // namespace gpuprof::injection
