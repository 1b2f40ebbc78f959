#include "reader/process.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/files/safe_open.h"
#include "base/process/pidfd.h"
#include "base/process/stranger.h"
#include "reader/requests.h"

namespace gpuprof::reader {
namespace {

constexpr int kPollMs = 100;
constexpr uint64_t kMaxMemory = uint64_t{384} << 20;  // become_stranger() sets this limit
constexpr size_t kMaxQuestion = size_t{64} << 10;     // bytes
constexpr int kMaxQuestions = 64;                     // of one request; a file with debug files has up to 10
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
  if (connection_.socket && has_ended(connection_.process)) {
    ++failures_;
    end();
  }
  if (!connection_.socket && failures_ < kMaxFailures) {
    connection_ = options_.start();
    ++generation_;
    failures_ += connection_.socket ? 0 : 1;
  }
  return static_cast<bool>(connection_.socket);
}

void Process::end() {
  connection_.socket.reset();
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

// The process may send anything, receive nothing, or ask without end. So each step of this function has a limit.
Process::Answer Process::ask(const Request& request) {
  if (!run() || (request.generation != 0 && request.generation != generation_)) {
    return {Outcome::not_started, {}};
  }
  const int socket = connection_.socket.get();
  uint64_t until = monotonic_ns() + request.time_ns;
  bool gave_up = false;
  const auto in_time = [&](int /*socket*/) {
    do {
      gave_up = monotonic_ns() >= until || (options_.goes_on && !options_.goes_on());
    } while (!gave_up && !is_readable(socket));
    return !gave_up;
  };
  const Message numbered(Message().number(failures_).bytes() + request.message.bytes());
  bool sent = send_message(socket, numbered, request.fd, Sending::never_waits);
  for (int questions = 0; sent && questions <= kMaxQuestions; ++questions) {
    auto received = receive_message(socket, request.most, in_time);
    if (!received) {
      break;
    }
    Message& message = received->message;
    const uint64_t kind = message.number();
    if (kind == static_cast<uint64_t>(Reply::answer) && message.ok()) {
      note_memory(message.number());
      return {Outcome::answered, std::move(message)};
    }
    if (!request.on_question || message.bytes().size() > kMaxQuestion) {
      break;
    }
    const uint64_t asked = monotonic_ns();
    Message question(message.bytes());
    const ReceivedMessage reply = request.on_question(question);
    until += monotonic_ns() - asked;
    sent = send_message(socket, reply.message, reply.fd.get(), Sending::never_waits);
  }
  ++failures_;
  end();
  return {gave_up ? Outcome::gave_up : Outcome::failed, {}};
}

Process& ProcessPair::of(int file) {
  return processes_[counts_as_ours(file) ? 1 : 0];
}

}  // namespace gpuprof::reader
