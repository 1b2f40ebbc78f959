// Lists, queues and events that the target had made before we came (record -p): what they are, by what newer loaders
// can say of a handle. All calls hold Locked. Where we are not late, or the loader does not say, a handle that is not
// known stays so.
#pragma once

#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

// From here on unknown handles are asked for.
void come_late();

List* find_or_learn_list(ze_command_list_handle_t handle);
Queue* find_or_learn_queue(ze_command_queue_handle_t handle);
TargetEvent* find_or_learn_event(ze_event_handle_t handle);

}  // namespace gpuprof::injection::level_zero
