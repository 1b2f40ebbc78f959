// Parents and ancestors of processes.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace gpuprof::record {

// Returns the parent pid from the text of /proc/PID/stat; 0: no parent, or a parent in another pid namespace.
pid_t parse_parent(std::string_view stat);

// Returns the parent of a process; 0: no visible parent, or the process has ended.
pid_t parent_of(pid_t pid);

// Returns whether `pid` is `ancestor` or its descendant. Orphans become children of the recorder, their subreaper.
bool descends_from(pid_t pid, pid_t ancestor);

}  // namespace gpuprof::record
