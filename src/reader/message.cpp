#include "reader/message.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/process/packet.h"

namespace gpuprof::reader {
namespace {

// A message is a sequence of packets. The first byte of each says whether more packets follow.
constexpr size_t kPacket = size_t{64} << 10;
enum class Follows : uint8_t { nothing, more };

}  // namespace

Message& Message::number(uint64_t value) {
  std::array<char, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  bytes_.append(bytes.data(), bytes.size());
  return *this;
}

Message& Message::text(std::string_view value) {
  number(value.size());
  bytes_.append(value);
  return *this;
}

uint64_t Message::number() {
  uint64_t value = 0;
  if (ok_ && bytes_.size() - at_ >= sizeof value) {
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  ok_ = false;
  return 0;
}

std::string_view Message::text() {
  const uint64_t size = number();
  if (!ok_ || size > bytes_.size() - at_) {
    ok_ = false;
    return {};
  }
  at_ += size;
  return std::string_view(bytes_).substr(at_ - size, size);
}

size_t Message::count(size_t bytes) {
  const uint64_t items = number();
  ok_ = ok_ && items <= (bytes_.size() - at_) / bytes;
  return ok_ ? static_cast<size_t>(items) : 0;
}

bool send_message(int socket, const Message& message, int fd, Sending sending) {
  const int flags = sending == Sending::never_waits ? MSG_DONTWAIT : 0;
  std::string_view rest = message.bytes();
  std::string packet;
  do {
    const std::string_view part = rest.substr(0, kPacket - 1);
    rest.remove_prefix(part.size());
    packet.assign(1, static_cast<char>(rest.empty() ? Follows::nothing : Follows::more)).append(part);
    if (!send_packet(socket, std::as_bytes(std::span(packet)), std::exchange(fd, -1), flags)) {
      return false;
    }
  } while (!rest.empty());
  return true;
}

std::optional<ReceivedMessage> receive_message(int socket, size_t most,
                                               const std::function<bool(int socket)>& goes_on) {
  std::string bytes;
  UniqueFd fd;
  std::string packet(kPacket, '\0');
  for (;;) {
    if (goes_on && !goes_on(socket)) {
      return std::nullopt;
    }
    Received received = receive_packet(socket, std::as_writable_bytes(std::span(packet)));
    if (received.bytes < 0 && errno == EINTR) {
      continue;
    }
    const auto size = static_cast<size_t>(std::max<ssize_t>(received.bytes, 0));
    const bool is_last = size > 0 && packet[0] == static_cast<char>(Follows::nothing);
    if (size == 0 || size > packet.size() || size - 1 > most - bytes.size() || (size == 1 && !is_last)) {
      return std::nullopt;
    }
    if (received.fd) {
      fd = std::move(received.fd);
    }
    bytes.append(packet, 1, size - 1);
    if (is_last) {
      return ReceivedMessage{Message(std::move(bytes)), std::move(fd)};
    }
  }
}

}  // namespace gpuprof::reader
