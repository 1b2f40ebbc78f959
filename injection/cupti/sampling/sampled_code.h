// The code that is sampled, or whose instructions are counted. Modules are known by the CRC of their code
// (cuptiGetCubinCrc()), as CUPTI's samples name them.
#pragma once

#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

extern const EventHandlers kSampledCode;

}  // namespace gpuprof::injection::cupti
