// Packets of a Unix socket (SOCK_SEQPACKET), each with a descriptor or without (SCM_RIGHTS).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "base/unique_fd.h"

namespace gpuprof {

// Sends all of the packet, and with it the descriptor unless it is negative. Never raises SIGPIPE. `flags` as for
// sendmsg(). False: errno says why.
bool send_packet(int socket, std::span<const std::byte> packet, int fd = -1, int flags = 0);

struct Received {
  ssize_t bytes = -1;  // of the packet that came, which is longer than the buffer where that was too small; -1: errno
  UniqueFd fd;         // that came with it. Further ones are closed
};

// `flags` as for recvmsg().
Received receive_packet(int socket, std::span<std::byte> buffer, int flags = 0);

}  // namespace gpuprof
