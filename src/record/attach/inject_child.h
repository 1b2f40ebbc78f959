// Runs the injection in a forked child. An injected call may last long, and the process that traces the thread must
// live until the call returns. With the child as tracer, the recorder can react to its user, or end, during the call.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "record/attach/inject.h"

namespace gpuprof::record {

// nullopt: the library in the process belongs to another recording.
using InjectionOutcome = Result<std::optional<Injection>>;

// Runs `work` in a child and returns its outcome. The stop function that `work` receives returns true once `stop` does.
// `work` then restores the target as soon as that is safe. The recorder waits 1 s for it, and then returns an error
// while the child finishes alone (in at most about a minute). Nobody kills the child, because a thread of the target
// would then stay in the middle of an injected call. The child also finishes if the recorder is killed. The child
// closes all descriptors that are not in `needed`.
InjectionOutcome run_in_child(const std::function<InjectionOutcome(const std::function<bool()>& stop)>& work,
                              const std::function<bool()>& stop, std::span<const int> needed = {});

}  // namespace gpuprof::record
