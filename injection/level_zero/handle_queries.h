// With record -p, finds out which lists, queues and events the target created before the recording. Uses queries that
// only newer loaders have. Without record -p or the queries, these handles stay unknown. All functions need Locked.
#pragma once

#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

void enable_handle_queries();

List* find_or_query_list(ze_command_list_handle_t handle);
Queue* find_or_query_queue(ze_command_queue_handle_t handle);
TargetEvent* find_or_query_event(ze_event_handle_t handle);

}  // namespace gpuprof::injection::level_zero
