// Opens outputs that are not regular files: open descriptors, devices, pipes.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Called while an output waits for its reader; true ends the wait. Empty: only a signal ends it.
using StopRequested = std::function<bool()>;

// The descriptor of /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N; nullopt for other names.
std::optional<int> descriptor_named(const std::string& path);

// Duplicates the descriptor. Both share position and flags. `name` is for messages.
Result<UniqueFd> duplicate_for_writing(int fd, const std::string& name);

// Opens `place` (an O_PATH descriptor with the status `info`). Accepts character devices. Accepts pipes of root or
// gpuprof's user, and waits for their reader. Rejects everything else before opening it.
Result<UniqueFd> open_special(const UniqueFd& place, const struct stat& info, const std::string& name,
                              const StopRequested& stop);

// Waits until writing PIPE_BUF bytes would not block. False: `give_up` is set, and `fd` accepted nothing for 1 s.
bool wait_until_writable(int fd, const std::atomic<bool>& give_up);

}  // namespace gpuprof
