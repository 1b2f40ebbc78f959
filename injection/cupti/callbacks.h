// Handles CUPTI's callbacks in the target's threads: begin and end of calls, and events of graph nodes.
#pragma once

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

void on_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

}  // namespace gpuprof::injection::cupti
