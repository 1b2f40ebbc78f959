// Sends and receives packets of a Unix socket (SOCK_SEQPACKET), each optionally with a descriptor (SCM_RIGHTS).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "base/unique_fd.h"

namespace gpuprof {

// Sends the packet, and `fd` unless negative. No SIGPIPE. `flags` are those of sendmsg(). False: errno is set.
bool send_packet(int socket, std::span<const std::byte> packet, int fd = -1, int flags = 0);

struct Received {
  ssize_t bytes = -1;  // size of the packet, which may exceed the buffer (then it was truncated); -1: see errno
  UniqueFd fd;         // first received descriptor; others are closed
};

// `flags` are those of recvmsg().
Received receive_packet(int socket, std::span<std::byte> buffer, int flags = 0);

}  // namespace gpuprof
