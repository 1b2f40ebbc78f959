// The work of inject() in a forked child. ptrace may wait for a thread of the target that does not come back for a long
// time, and its tracer cannot leave such a thread alone without harm: the recorder can, and answers its user meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "record/attach/inject.h"

namespace gpuprof::record {

using InjectionOutcome = Result<std::optional<Injection>>;  // nothing: the library belongs to another recording

// Runs `work` and returns its outcome. Once `stop` says so, work's own stop function says so, too; work then gives the
// target back as soon as it can do so without harm. It is waited for a second, and then left to do so alone (at most
// about a minute): killed, it would leave a thread of the target in the middle of our call. The same happens when the
// recorder is killed. Of the recorder's descriptors the child keeps `needed` alone: it may outlive the recorder.
InjectionOutcome run_in_child(const std::function<InjectionOutcome(const std::function<bool()>& stop)>& work,
                              const std::function<bool()>& stop, std::span<const int> needed = {});

}  // namespace gpuprof::record
