// Runs the work of inject() in a forked child. An injected call may last long, and the process that traces the thread
// must live until the call ends. If the child is the tracer, the recorder can answer its user, or end, during the call.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "record/attach/inject.h"

namespace gpuprof::record {

using InjectionOutcome = Result<std::optional<Injection>>;  // nullopt: the library belongs to another recording

// Runs `work` in a child and returns its outcome. Once `stop` returns true, so does the stop function of `work`. The
// work then restores the target as soon as that is safe. The recorder waits 1 s for it, and then lets the child finish
// alone (at most about a minute). Killing the child would leave a thread of the target in the middle of an injected
// call. The child also finishes if the recorder is killed. The child closes all descriptors that are not in `needed`.
InjectionOutcome run_in_child(const std::function<InjectionOutcome(const std::function<bool()>& stop)>& work,
                              const std::function<bool()>& stop, std::span<const int> needed = {});

}  // namespace gpuprof::record
