#pragma once

#include <sys/types.h>

#include <string_view>

namespace gpuprof::record {

// Returns the parent's pid from the text of /proc/PID/stat; 0: the process has no parent in the recorder's pid
// namespace.
pid_t parse_parent(std::string_view stat);

// Returns the parent of a process; 0: the process has ended, or has no parent in the recorder's pid namespace.
pid_t parent_of(pid_t pid);

// Returns whether `pid` is `ancestor` or its descendant. The recorder is a subreaper, so orphans become its children.
bool descends_from(pid_t pid, pid_t ancestor);

}  // namespace gpuprof::record
