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

// Called repeatedly while an output waits for its reader. If it returns true, the wait ends. If the function is
// empty, only a signal ends the wait.
using StopRequested = std::function<bool()>;

// Returns the descriptor that /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N names. Returns
// nullopt for other names.
std::optional<int> descriptor_named(const std::string& path);

// Duplicates the descriptor. The copy shares position and flags with it. `name` is only for messages.
Result<UniqueFd> duplicate_for_writing(int fd, const std::string& name);

// Opens a character device or a pipe. `place` is its O_PATH descriptor, with the status `info`. Accepts only pipes
// that root or gpuprof's user owns, and waits for their reader. Rejects everything else without opening it.
Result<UniqueFd> open_special(const UniqueFd& place, const struct stat& info, const std::string& name,
                              const StopRequested& stop);

// Waits until PIPE_BUF bytes can be written without blocking. Returns false if `give_up` is set and `fd` accepted
// nothing for 1 s.
bool wait_until_writable(int fd, const std::atomic<bool>& give_up);

}  // namespace gpuprof
