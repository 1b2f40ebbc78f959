// Outputs that are no regular file: descriptors that are open already, devices, pipes.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Asked while an output waits for somebody else; true ends the waiting. Empty: nothing but a signal ends it.
using StopRequested = std::function<bool()>;

// The descriptor that /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N mean; nullopt for any other
// name.
std::optional<int> descriptor_named(const std::string& path);

// The descriptor itself, which keeps its position and its flags; `name` is for messages.
Result<UniqueFd> duplicate_for_writing(int fd, const std::string& name);

// Opens what `place` (O_PATH, of the kind `info`) stands for: a character device, or a pipe of root's or ours, where it
// waits for a reader. Everything else is refused, before it is opened.
Result<UniqueFd> open_special(const UniqueFd& place, const struct stat& info, const std::string& name,
                              const StopRequested& stop);

// Waits until `fd` takes at least PIPE_BUF bytes, or has an error that a write will tell. False: `give_up` was set, and
// nothing was taken for a second.
bool wait_until_writable(int fd, const std::atomic<bool>& give_up);

}  // namespace gpuprof
