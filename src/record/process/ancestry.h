// Who started whom.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace gpuprof::record {

// The parent's number out of the text of /proc/PID/stat; 0: there is none, or it is none that we see.
pid_t parse_parent(std::string_view stat);

// The parent of a process; 0 also where it has ended.
pid_t parent_of(pid_t pid);

// Whether `pid` is `ancestor`, or was started by it, or by a process that was. One whose parent has ended is the child
// of somebody else (of us, as record is their "subreaper").
bool descends_from(pid_t pid, pid_t ancestor);

}  // namespace gpuprof::record
