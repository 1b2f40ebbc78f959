// What CUPTI calls in the target's threads: at the beginning and the end of calls, and for nodes of graphs.
#pragma once

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Given to cuptiSubscribe.
void on_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

}  // namespace gpuprof::injection::cupti
