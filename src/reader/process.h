// A process that reads files and GPU code of strangers for the recorder. It parses what it gets by descriptor, and
// answers. It can do nothing else (base/process/stranger.h), so data that takes it over gains only the power to give
// wrong answers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/unique_fd.h"
#include "reader/message.h"

namespace gpuprof::reader {

// The hidden command of gpuprof that calls serve() (reader/serve.h).
inline constexpr std::string_view kReadCommand = "read-for-recorder";

// Limit for all answers, with the time that the recorder takes for questions. The process then ends itself.
inline constexpr int kMostSeconds = 300;

struct Connection {
  UniqueFd socket;
  UniqueFd process;  // pidfd
};

// Starts gpuprof's own file with kReadCommand. Closed descriptors: it could not be started.
Connection start_process();

// Owns one such process, which it starts with the first request. One thread owns a Process.
class Process {
 public:
  struct Options {
    std::function<Connection()> start = start_process;
    // Called with the change of the process's memory in bytes. May be empty.
    std::function<void(int64_t)> memory = {};
    // Called about every 0.1 s while a request waits, by the thread that waits. False: gives up. May be empty.
    std::function<bool()> goes_on = {};
  };
  explicit Process(Options options) : options_(std::move(options)) {}
  ~Process() { end(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Why there is no answer. `gave_up`: a limit was reached. `failed`: the process has ended by itself, or has sent
  // something else. `not_started`: there is no process.
  enum class Outcome : uint8_t { answered, gave_up, failed, not_started };
  struct Answer {
    Outcome outcome = Outcome::failed;
    Message message;
  };
  struct Request {
    Message message;
    int fd = -1;
    uint64_t time_ns = 0;           // limit for the answer, without the time of on_question
    size_t most = size_t{1} << 20;  // bytes of the answer
    uint64_t generation = 0;        // only this process may answer, because it knows earlier requests; 0: any
    // Answers a question of the reader, which needs another file. Empty: it may not ask.
    std::function<ReceivedMessage(Message&)> on_question = {};
  };

  // Asks, and waits for the answer. Without an answer, the process is ended, and the next request starts another one,
  // which knows nothing of earlier requests.
  Answer ask(const Request& request);

  // Changes with each new process.
  [[nodiscard]] uint64_t generation() const { return generation_; }
  // Makes the process run, so that generation() is that of the next request. Starts another one if it has ended since
  // the last answer. Returns false if it cannot be started.
  bool run();

 private:
  void end();
  void note_memory(uint64_t said);

  Options options_;
  Connection connection_;
  uint64_t generation_ = 0;
  uint64_t failures_ = 0;
  uint64_t memory_ = 0;
};

// One process for files that only root and gpuprof's user can have written, and another one for all others. So a
// hostile file cannot falsify answers about the system's files.
class ProcessPair {
 public:
  explicit ProcessPair(const Process::Options& options) : processes_{Process(options), Process(options)} {}
  // Returns the process that reads this file.
  Process& of(int file);

 private:
  std::array<Process, 2> processes_;
};

}  // namespace gpuprof::reader
