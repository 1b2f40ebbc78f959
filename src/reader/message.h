// Messages between the recorder and its reader: numbers and texts, and at most one descriptor. Each side checks all
// that it receives, because hostile data may have taken over the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace gpuprof::reader {

class Message {
 public:
  Message() = default;
  explicit Message(std::string bytes) : bytes_(std::move(bytes)) {}

  Message& number(uint64_t value);
  Message& text(std::string_view value);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  // Take the next number or text. At the end or after an error, they return 0 or an empty text, and ok() is false.
  uint64_t number();
  std::string_view text();  // valid as long as the message
  [[nodiscard]] bool ok() const { return ok_; }
  // Returns a count of items, each of which takes at least `bytes` in the rest of the message.
  size_t count(size_t bytes);

 private:
  std::string bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

struct ReceivedMessage {
  Message message;
  UniqueFd fd;
};

enum class Sending : uint8_t { waits, never_waits };

// Sends a message, and `fd` if it is not negative. Returns false if the other side has ended or, with never_waits, does
// not receive.
bool send_message(int socket, const Message& message, int fd = -1, Sending sending = Sending::waits);

// Waits for a message of at most `most` bytes. nullopt: the other side has ended, or has sent something else. `goes_on`
// is called with the socket before each packet. If it returns false, the result is nullopt.
std::optional<ReceivedMessage> receive_message(int socket, size_t most,
                                               const std::function<bool(int socket)>& goes_on = {});

}  // namespace gpuprof::reader
