// Makes the sockets on which the recorder listens for targets.
#pragma once

#include <string>

#include "base/process/process_guard.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

// Listens without blocking. `name`: a path, or an abstract name with its leading NUL. It must fit into sun_path.
Result<UniqueFd> listen_at(const std::string& name);

// Like listen_at() for an abstract name, in the network namespace of the process. If the process has another user
// namespace, in which root may have no id, root makes the socket as the process's user. Waits at most one second.
// Returns a closed descriptor if gpuprof listens there already.
Result<UniqueFd> listen_in_network_of(const ProcessGuard& process, const std::string& name);

// Returns whether the process reaches abstract sockets of gpuprof's own network namespace.
bool shares_network(pid_t pid);

}  // namespace gpuprof::record
