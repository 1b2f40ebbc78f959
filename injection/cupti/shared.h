// Calls of CUPTI that have two forms. If CUPTI has one subscriber, gpuprof uses the first form. If it has several
// (CUPTI 13.3 with driver 610, and later), each tool uses the second form, with its own subscription (Session::shared).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Subscribes beside other tools. They must do so, too. If another tool forbids it, `holder` gets the tool's name, or
// stays empty if CUPTI does not know it. `holder`: a buffer of kHolderBytes.
inline constexpr size_t kHolderBytes = 128;
CUptiResult subscribe_shared(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, char* holder);

// Returns whether the user wants other tools to be able to subscribe, too (GPUPROF_CUPTI_SHARED=1).
bool wants_sharing();

CUptiResult register_buffers();
CUptiResult enable_kind(CUpti_ActivityKind kind);
CUptiResult disable_kind(CUpti_ActivityKind kind);
CUptiResult next_record(uint8_t* buffer, size_t valid, CUpti_Activity** record);
CUptiResult dropped_records(size_t* dropped);
CUptiResult cupti_time(uint64_t* time);

}  // namespace gpuprof::injection::cupti
