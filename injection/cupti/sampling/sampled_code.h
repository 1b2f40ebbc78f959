// Stores the code of kernels that are sampled or counted. cuptiGetCubinCrc() identifies a module, as in CUPTI's
// samples.
#pragma once

#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

extern const EventHandlers kSampledCode;

}  // namespace gpuprof::injection::cupti
