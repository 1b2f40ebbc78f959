// Stores code that is sampled or counted. Modules are identified by cuptiGetCubinCrc(), as in CUPTI's samples.
#pragma once

#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

extern const EventHandlers kSampledCode;

}  // namespace gpuprof::injection::cupti
