#include "base/process/packet.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "catch.h"

using gpuprof::receive_packet;
using gpuprof::send_packet;
using gpuprof::UniqueFd;

namespace {

constexpr std::array<std::byte, 3> kPacket = {std::byte{1}, std::byte{2}, std::byte{3}};

struct Sockets {
  UniqueFd one;
  UniqueFd other;

  Sockets() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    one.reset(ends[0]);
    other.reset(ends[1]);
  }
};

}  // namespace

TEST_CASE("a packet arrives with the descriptor that was sent with it, or without one") {
  const Sockets ends;
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  std::array<std::byte, 8> buffer{};
  REQUIRE(send_packet(ends.one.get(), kPacket, file.get()));
  REQUIRE(send_packet(ends.one.get(), kPacket));
  const auto with = receive_packet(ends.other.get(), buffer);
  CHECK(with.bytes == 3);
  CHECK(buffer[2] == std::byte{3});
  struct stat sent {};
  struct stat came {};
  REQUIRE(::fstat(file.get(), &sent) == 0);
  REQUIRE(::fstat(with.fd.get(), &came) == 0);
  CHECK(sent.st_ino == came.st_ino);
  CHECK((::fcntl(with.fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  const auto without = receive_packet(ends.other.get(), buffer);
  CHECK(without.bytes == 3);
  CHECK_FALSE(without.fd);
}

TEST_CASE("oversized packets, missing packets and a closed socket are distinguished") {
  Sockets ends;
  std::array<std::byte, 2> buffer{};
  CHECK(receive_packet(ends.other.get(), buffer, MSG_DONTWAIT).bytes == -1);
  CHECK(errno == EAGAIN);
  REQUIRE(send_packet(ends.one.get(), kPacket));
  CHECK(receive_packet(ends.other.get(), buffer).bytes == 3);
  ends.one.reset();
  CHECK(receive_packet(ends.other.get(), buffer).bytes == 0);
  CHECK_FALSE(send_packet(ends.other.get(), kPacket));
  CHECK(errno == EPIPE);
}
