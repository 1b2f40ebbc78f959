// The part of the mock CUPTI for several subscribers, as of CUPTI 13.3. A tool that subscribes without a callback gets
// records of kernels in buffers of its own; the tool with the callback gets all that a single subscriber gets.
#pragma once

#include <cupti_callbacks.h>

#include "mock_gpu.h"

namespace gpuprof::mock {

// Returns whether the first subscription excludes further ones, or has the other form.
bool shared_mode();
// Aborts if there are several subscribers: calls without a subscription are then forbidden.
void forbid_if_shared(const char* call);

// The same as the calls of the library without _v2, but allowed if there are several subscribers.
CUptiResult subscribe_main(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user);
bool is_main(CUpti_SubscriberHandle subscriber);
bool has_main();
CUptiResult enable_main(uint32_t kind);
CUptiResult disable_main(uint32_t kind);

bool has_tool();
bool forget_tool(CUpti_SubscriberHandle subscriber);  // returns false if the subscription is not the tool's
void tool_op(const Op& op);
void flush_tool();

}  // namespace gpuprof::mock
