// The names of kernels. A kernel's activity record points to a name that belongs to its module, and goes with it: by
// the time that CUPTI hands the record over, another name may stand there. So the name is taken at the launch, or when
// a graph's node is made, and the record's pointer is followed only where nothing has been unloaded since the kernel
// ran.
#pragma once

#include "cupti/activity/records.h"
#include "cupti/api/cupti_api.h"
#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

// Name ids; 0: none, or not known.
uint32_t name_of_launch(const CUpti_CallbackData& data);
uint32_t name_of_function(CUfunction function);
uint32_t name_of_record(const KernelRecord& record);

// Nodes of executable graphs have been changed, and this CUPTI does not say which: what is known of nodes no longer
// serves as a name.
void doubt_node_names();

extern const EventHandlers kKernelNames;

}  // namespace gpuprof::injection::cupti
