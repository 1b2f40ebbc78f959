#include "base/process/packet.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace gpuprof {

bool send_packet(int socket, std::span<const std::byte> packet, int fd, int flags) {
  iovec part{const_cast<std::byte*>(packet.data()), packet.size()};  // NOLINT: iovec has no const form
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | flags) == static_cast<ssize_t>(packet.size());
}

Received receive_packet(int socket, std::span<std::byte> buffer, int flags) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  // CMSG_SPACE would include padding, which has space for a second descriptor.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  Received received;
  received.bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC | flags);
  const cmsghdr* header = received.bytes < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    received.fd.reset(fd);
  }
  return received;
}

}  // namespace gpuprof
