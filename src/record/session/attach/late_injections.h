// For `record -- COMMAND`: injects the library into processes that do not see its folder, such as those of a container
// that the command has started. Works in a thread of its own, because injected calls may last long.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "backend/backend.h"
#include "base/process/process_guard.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

class LateInjections {
 public:
  // `socket` and `token` are those of AttachChannel. `backends` must outlive the object.
  LateInjections(const backend::Backends& backends, std::string socket, std::string token);
  LateInjections(const LateInjections&) = delete;
  LateInjections& operator=(const LateInjections&) = delete;
  ~LateInjections();  // ends a running injection, within about a second

  // Begins to inject the library. Returns false during another injection, after a success, and after several failures.
  bool begin(pid_t pid);

  struct Outcome {
    pid_t pid = 0;
    Status injected;
    UniqueFd socket;  // in the process's network namespace; closed if gpuprof listens there already
  };
  // Returns the outcome of an injection that has finished since the last call. A library that was injected waits for
  // its welcome: listen at `socket` at once.
  std::optional<Outcome> take();

 private:
  void inject(ProcessGuard& guard);

  const backend::Backends& backends_;
  std::string socket_;
  std::string token_;
  std::map<pid_t, unsigned> tries_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> done_ = false;
  std::optional<Outcome> outcome_;  // belongs to the thread until done_
  std::thread thread_;
};

}  // namespace gpuprof::record
