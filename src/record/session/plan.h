// Derives the options of the channel and of the join from the options of a recording. The results depend only on the
// arguments.
#pragma once

#include "backend/backend.h"
#include "record/ipc/channel.h"
#include "record/join/context/options.h"
#include "record/session.h"
#include "record/stack_choice.h"

namespace gpuprof::record {

ChannelOptions plan_channel(const SessionOptions& options, const StackSetup& stacks, const backend::Backends& backends);

JoinOptions plan_join(const SessionOptions& options, const StackSetup& stacks, const backend::Backends& backends);

}  // namespace gpuprof::record
