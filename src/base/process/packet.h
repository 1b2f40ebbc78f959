// Sends and receives packets of a Unix socket (SOCK_SEQPACKET), each optionally with a descriptor (SCM_RIGHTS).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "base/unique_fd.h"

namespace gpuprof {

// Sends the packet, and `fd` if it is not negative. Never raises SIGPIPE. `flags` are those of sendmsg(). Returns
// false on an error and sets errno.
bool send_packet(int socket, std::span<const std::byte> packet, int fd = -1, int flags = 0);

struct Received {
  // Size of the packet. If it exceeds the buffer, the packet was truncated. -1: an error, and errno says which.
  ssize_t bytes = -1;
  UniqueFd fd;  // first received descriptor; the others were closed
};

Received receive_packet(int socket, std::span<std::byte> buffer, int flags = 0);

}  // namespace gpuprof
