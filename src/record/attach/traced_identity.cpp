#include "record/attach/traced_identity.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <utility>

namespace gpuprof::record {
namespace {

std::string proc(uint32_t pid) {
  return "/proc/" + std::to_string(pid);
}

// What stands behind "Key:" in a status file.
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream status(path);
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":\t")) {
      return line.substr(key.size() + 2);
    }
  }
  return {};
}

}  // namespace

Result<TracedIdentity> TracedIdentity::of(uint32_t pid) {
  const std::string process = "process " + std::to_string(pid);
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const std::string group = value_of(proc(pid) + "/status", "Tgid");
  if (!group.empty() && group != std::to_string(pid)) {
    return Error{process + " is a thread of process " + group, "give the process's id: -p " + group};
  }
  if (!pidfd || group.empty()) {
    return Error{"no " + process, "is it still running? give its process id"};
  }
  TracedIdentity identity(pid, std::move(pidfd));
  identity.facts_ = identity.read(static_cast<pid_t>(pid));
  if (identity.has_ended()) {
    return Error{process + " has ended", ""};
  }
  return identity;
}

bool TracedIdentity::has_ended() const {
  pollfd ended{pidfd_.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 1;
}

TracedIdentity::Facts TracedIdentity::read(pid_t thread) const {
  const std::string folder = proc(pid_) + "/task/" + std::to_string(thread);
  Facts facts;
  facts.ids = value_of(folder + "/status", "Uid") + ' ' + value_of(folder + "/status", "Gid");
  struct stat program {};
  if (::stat((proc(pid_) + "/exe").c_str(), &program) == 0) {
    facts.program_device = program.st_dev;
    facts.program_inode = program.st_ino;
  }
  return facts;
}

Status TracedIdentity::check(pid_t thread) const {
  const std::string process = "process " + std::to_string(pid_);
  const Facts now = read(thread != 0 ? thread : static_cast<pid_t>(pid_));
  // Asked last: while it has not ended, what /proc says under its pid is about it.
  if (has_ended()) {
    return Error{process + " has ended", ""};
  }
  if (now.program_device != facts_.program_device || now.program_inode != facts_.program_inode) {
    return Error{process + " runs another program now than when it was chosen", "give its pid again if it is meant"};
  }
  if (now.ids != facts_.ids) {
    return Error{process + " has another user or group now than when it was chosen",
                 "give its pid again if it is meant"};
  }
  return {};
}

}  // namespace gpuprof::record
