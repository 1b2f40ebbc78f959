// Reads names of kernels. An activity record points to a name in its module's memory, which may be reused before CUPTI
// delivers the record. So the name is read at the launch or when a graph node is created. The record's pointer is used
// only if no module was unloaded since the kernel ran.
#pragma once

#include "cupti/activity/records.h"
#include "cupti/api/cupti_api.h"
#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

// Return the id of a kernel's name; 0: the name is unknown.
uint32_t name_of_launch(const CUpti_CallbackData& data);
uint32_t name_of_function(CUfunction function);
uint32_t name_of_record(const KernelRecord& record);

// Makes the stored names of nodes unused. Call it if nodes of executable graphs have changed and CUPTI does not report
// which.
void distrust_node_names();

extern const EventHandlers kKernelNames;

}  // namespace gpuprof::injection::cupti
