#include "record/attach/traced_identity.h"

#include <sys/stat.h>

#include <utility>

#include "base/process/pidfd.h"
#include "base/process/process_status.h"
#include "base/text/hints.h"

namespace gpuprof::record {
namespace {

std::string status_value_of(const std::string& status, const char* name) {
  return std::string(status_value(status, name).value_or(""));
}

}  // namespace

Result<TracedIdentity> TracedIdentity::of(uint32_t pid) {
  const std::string process = "process " + std::to_string(pid);
  UniqueFd pidfd = open_pidfd(static_cast<pid_t>(pid));
  const std::string group = status_value_of(read_status_of(pid), "Tgid");
  if (!group.empty() && group != std::to_string(pid)) {
    return Error{process + " is a thread of process " + group, "give the process's id: -p " + group};
  }
  if (!pidfd || group.empty()) {
    return Error{"no " + process, hints::kNameLiveProcess};
  }
  TracedIdentity identity(pid, std::move(pidfd));
  identity.facts_ = identity.read(static_cast<pid_t>(pid));
  if (identity.has_ended()) {
    return Error{process + " has ended", ""};
  }
  return identity;
}

bool TracedIdentity::has_ended() const {
  return gpuprof::has_ended(pidfd_);
}

TracedIdentity::Facts TracedIdentity::read(pid_t thread) const {
  const std::string status = read_status_of(pid_, thread);
  Facts facts;
  facts.ids = status_value_of(status, "Uid") + ' ' + status_value_of(status, "Gid");
  struct stat program {};
  if (::stat(("/proc/" + std::to_string(pid_) + "/exe").c_str(), &program) == 0) {
    facts.program_device = program.st_dev;
    facts.program_inode = program.st_ino;
  }
  return facts;
}

Status TracedIdentity::check(pid_t thread) const {
  const std::string process = "process " + std::to_string(pid_);
  const Facts now = read(thread != 0 ? thread : static_cast<pid_t>(pid_));
  // Check this after reading /proc. If the process still exists, the files did not belong to a later process with the
  // same pid.
  if (has_ended()) {
    return Error{process + " has ended", ""};
  }
  if (now.program_device != facts_.program_device || now.program_inode != facts_.program_inode) {
    return Error{process + " has executed another program since it was selected",
                 "to record it anyway, run the command again with the same pid"};
  }
  if (now.ids != facts_.ids) {
    return Error{process + " has changed its user or group since it was selected",
                 "to record it anyway, run the command again with the same pid"};
  }
  return {};
}

}  // namespace gpuprof::record
