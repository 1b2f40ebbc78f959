// Derives the options of channel and join from those of the recording. Pure functions of their arguments.
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
