// Controls how `record -p` records its process: an injected library, counted launches, or only local sources.
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
#include "record/session/poll_iteration.h"
#include "record/stack_choice.h"
#include "record/target/target_user.h"

namespace gpuprof::record {

class Attachment {
 public:
  explicit Attachment(uint32_t pid) : pid_(pid) {}  // 0: a command is recorded instead

  [[nodiscard]] bool is_wanted() const { return pid_ != 0; }

  // Injects the library, which then waits in its handshake. If injection fails, sets up uprobes that count launches,
  // and replaces `stacks` by an engine that can do so.
  Status begin(const SessionOptions& options, const backend::Backends& backends, Channel& channel, StackSetup& stacks);

  // Returns which processes may connect: the attached process, its descendants and its user's processes. If a command
  // is recorded: the recorder's descendants, and processes of `user`.
  [[nodiscard]] ExpectedCallers expected_callers(const std::optional<TargetUser>& user) const;

  void add_poll_fd(std::vector<pollfd>& fds) const;  // readable once the process has ended
  [[nodiscard]] bool has_ended() const;

  // One line: why launches are only counted; empty if they are not.
  [[nodiscard]] const std::string& counts_only() const { return counts_only_; }
  [[nodiscard]] const std::vector<std::string>& functions() const {
    return functions_;
  }  // names of the functions that are counted

  // Makes the injected library leave the process, which may take some seconds.
  void leave(PollIteration& iteration) const;

  // Warns if the injected library does not connect: it may have found no usable vendor library, and cannot report that.
  void warn_if_not_connected(uint64_t since_ns, uint64_t now_ns);

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
