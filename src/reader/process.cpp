#include "reader/process.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/stranger.h"
#include "reader/requests.h"

namespace gpuprof::reader {
namespace {

constexpr int kPollMs = 100;
constexpr uint64_t kMaxMemory = uint64_t{512} << 20;
constexpr size_t kMaxAnswer = size_t{256} << 20;
// A target may have files that end the process. Each costs some milliseconds, so only so many are tried.
constexpr uint64_t kMaxFailures = 100;

bool is_readable(int socket) {
  pollfd ready{socket, POLLIN, 0};
  return ::poll(&ready, 1, kPollMs) > 0;
}

}  // namespace

Connection start_process() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return {};
  }
  Connection made{UniqueFd(ends[0]), UniqueFd()};
  const UniqueFd theirs(ends[1]);
  made.process = start_stranger({.program = "/proc/self/exe",
                                 .arguments = {std::string(kReadCommand)},
                                 .data = theirs.get(),
                                 .foreign = false,
                                 .limits = {}});
  return made.process ? std::move(made) : Connection();
}

bool Process::run() {
  if (connection_.socket) {
    return true;
  }
  if (failures_ >= kMaxFailures) {
    return false;
  }
  connection_ = options_.start();
  ++generation_;
  return static_cast<bool>(connection_.socket);
}

void Process::end() {
  if (connection_.process) {
    end_stranger(connection_.process);
  }
  connection_ = {};
  note_memory(0);
}

void Process::note_memory(uint64_t said) {
  const uint64_t bytes = std::min(said, kMaxMemory);  // the process may lie
  if (options_.memory) {
    options_.memory(static_cast<int64_t>(bytes) - static_cast<int64_t>(memory_));
  }
  memory_ = bytes;
}

Process::Answer Process::ask(const Request& request) {
  if (!run() || !send_message(connection_.socket.get(), request.message, request.fd)) {
    ++failures_;
    end();
    return {};
  }
  const uint64_t until = monotonic_ns() + request.time_ns;
  bool gave_up = false;
  const auto wait = [&](int socket) {
    while (!gave_up && !is_readable(socket)) {
      gave_up = monotonic_ns() >= until || (request.goes_on && !request.goes_on());
    }
    return !gave_up;
  };
  while (auto received = receive_message(connection_.socket.get(), kMaxAnswer, wait)) {
    Message& message = received->message;
    const uint64_t kind = message.number();
    if (kind == static_cast<uint64_t>(Reply::answer) && message.ok()) {
      note_memory(message.number());
      return {Outcome::answered, std::move(message)};
    }
    Message question(message.bytes());
    // A process that was taken over may ask without end.
    gave_up = monotonic_ns() >= until;
    const ReceivedMessage reply = request.on_question && !gave_up ? request.on_question(question) : ReceivedMessage();
    if (gave_up || !send_message(connection_.socket.get(), reply.message, reply.fd.get())) {
      break;
    }
  }
  ++failures_;
  end();
  return {gave_up ? Outcome::gave_up : Outcome::failed, {}};
}

}  // namespace gpuprof::reader
