// Stores code that is sampled or counted. Its CRC (cuptiGetCubinCrc()) identifies a module, as in CUPTI's samples.
#pragma once

#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

extern const EventHandlers kSampledCode;

}  // namespace gpuprof::injection::cupti
