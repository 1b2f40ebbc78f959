// Chooses how `record -p` records its process: by an injected library, by counting launches, or only by local sources.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "base/process/process_guard.h"
#include "base/result.h"
#include "record/attach/attach.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/session.h"
#include "record/session/poll_iteration.h"
#include "record/stack_choice.h"
#include "record/target/target_user.h"

namespace gpuprof::record {

class Attachment {
 public:
  explicit Attachment(uint32_t pid);  // pid 0: a command is recorded instead

  [[nodiscard]] bool is_wanted() const { return pid_ != 0; }
  // Guards the process with the rights that it had when it was chosen. Null: record runs a command, or there is no such
  // process.
  [[nodiscard]] const std::shared_ptr<ProcessGuard>& guard() const { return guard_; }

  // Injects the library, which then waits in its handshake. If the injection fails, attaches uprobes that count
  // launches, and sets `stacks` to an engine that supports this.
  Status begin(const SessionOptions& options, const backend::Backends& backends, Channel& channel, StackSetup& stacks);

  // Returns which processes may connect. With record -p, these are the attached process, its descendants and all
  // processes of its user. With a command, they are the recorder's descendants and all processes of `user`.
  [[nodiscard]] ExpectedCallers expected_callers(const std::optional<TargetUser>& user) const;

  void add_poll_fd(std::vector<pollfd>& fds) const;
  [[nodiscard]] bool has_ended() const;

  // Returns one line that says why launches are only counted. Empty: GPU times are recorded, too.
  [[nodiscard]] const std::string& counts_only() const { return counts_only_; }
  // Returns the names of the functions whose calls are counted as launches.
  [[nodiscard]] std::vector<std::string> functions() const;

  // Also counts the launches of a child, if launches are counted. Call it when the child is new, with `uses_library`
  // false. Call it again when the child has mapped a vendor's library. Returns whether the child's launches are
  // counted.
  bool count_child(pid_t pid, bool uses_library, Correlator& correlator, StackEngine* engine);
  // Call it often, because the pid of a child that has ended may be given to another process.
  void leave_ended_children(StackEngine* engine);

  void leave(PollIteration& iteration) const;

  // Warns if the injected library has not connected for some time. It may have found no usable vendor library, and
  // cannot report that.
  void warn_if_not_connected(uint64_t since_ns, uint64_t now_ns);

 private:
  Status count(const Error& why, const SessionOptions& options, const backend::Backends& backends, Channel& channel,
               StackSetup& stacks);

  uint32_t pid_;
  std::shared_ptr<ProcessGuard> guard_;
  std::optional<Injection> injection_;
  std::string counts_only_;
  std::vector<LaunchProbe> probes_;
  // Whether the launch functions are probed in all processes, for the children. nullopt: there was no child yet.
  std::optional<bool> can_count_children_;
  std::unordered_map<pid_t, std::shared_ptr<ProcessGuard>> children_;  // whose launches are counted
  bool said_not_connected_ = false;
};

}  // namespace gpuprof::record
