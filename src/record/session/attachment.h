// record -p: the process that is recorded, and how: by a library that is brought into it, by counting its launches, or
// by nothing but sources in our own process.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/attach/attach.h"
#include "record/ipc/channel.h"
#include "record/session.h"
#include "record/session/turn.h"
#include "record/stack_choice.h"
#include "record/target/target_user.h"

namespace gpuprof::record {

class Attachment {
 public:
  explicit Attachment(uint32_t pid) : pid_(pid) {}  // 0: a command is recorded

  [[nodiscard]] bool is_wanted() const { return pid_ != 0; }

  // The library waits for us at its handshake, as one that starts with its process does. Where none can be brought in,
  // `stacks` becomes what can count.
  Status begin(const SessionOptions& options, const backend::Backends& backends, Channel& channel, StackSetup& stacks);

  // Who may connect: the process and its descendants, or, where a command is recorded, what `user` runs.
  [[nodiscard]] ExpectedCallers expected_callers(const std::optional<TargetUser>& user) const;

  void add_poll_fd(std::vector<pollfd>& fds) const;  // readable at the end of the process
  [[nodiscard]] bool has_ended() const;

  // Why launches are only counted, one line; empty: they are not.
  [[nodiscard]] const std::string& counts_only() const { return counts_only_; }
  [[nodiscard]] const std::vector<std::string>& functions() const { return functions_; }  // that are counted

  // Has the library that was brought in leave the process, which may take some seconds.
  void leave(Turn& turn) const;

  // A library that has been brought in may find no vendor library that it can use, and have no way to say so.
  void tell_if_not_connected(uint64_t since_ns, uint64_t now_ns);

 private:
  Status count(const Error& why, const SessionOptions& options, const backend::Backends& backends, Channel& channel,
               StackSetup& stacks);

  uint32_t pid_;
  UniqueFd pidfd_;
  std::optional<Injection> injection_;
  std::string counts_only_;
  std::vector<std::string> functions_;
  bool said_not_connected_ = false;
};

}  // namespace gpuprof::record
