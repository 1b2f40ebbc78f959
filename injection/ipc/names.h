// Texts to ids, each text once per source.
#pragma once

#include "wire/wire.h"

namespace gpuprof::injection {

// The id of a text; 0 where it could not be given one (counted). Emits the NAME record at the first use.
uint32_t intern(gpuprof_segment* segment, const char* text, size_t length);

// How many bytes of `text` cross: all, or as many whole UTF-8 characters as leave room for the "...".
size_t cut_length(const char* text, size_t length);

// All texts are new again, for a new source. Only while no other thread can be in intern().
void reset_names();

}  // namespace gpuprof::injection
