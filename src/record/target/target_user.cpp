#include "record/target/target_user.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "backend/backend.h"
#include "base/exit_status.h"
#include "base/process/close_range.h"

namespace gpuprof::record {
namespace {

constexpr const char* kPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";  // as Debian's sudo sets it
constexpr std::string_view kKept[] = {"TERM", "COLORTERM", "NO_COLOR", "LANG", "LANGUAGE", "TZ", "DISPLAY"};

// Returns prefixes of the variables that a target of another user inherits: those of language, gpuprof and all vendors.
std::vector<std::string_view> kept_beginnings() {
  std::vector<std::string_view> beginnings = {"LC_", "GPUPROF_"};
  for (const auto& backend : backend::make_all()) {
    const auto& vendors = backend->descriptor().vendor_variables;
    beginnings.insert(beginnings.end(), vendors.begin(), vendors.end());
  }
  return beginnings;
}

bool is_kept_variable(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::find(std::begin(kKept), std::end(kKept), name) != std::end(kKept) ||
         std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

bool is_of_user(std::string_view name) {
  return name == "HOME" || name == "USER" || name == "LOGNAME" || name == "SHELL";
}

// Returns true also for two errors, because the child then has no keyring to inherit. ENOSYS: the kernel has no
// keyrings. EPERM: a container's filter forbids them.
bool leave_keyring() {
  return ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0 || errno == ENOSYS || errno == EPERM;
}

}  // namespace

Result<std::optional<TargetUser>> find_user(const std::string& name) {
  if (name.empty()) {
    return std::optional<TargetUser>();
  }
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return Error{"--user: unknown user '" + name + "'", "use a name from /etc/passwd, e.g. --user $SUDO_USER",
                 kExitUsage};
  }
  const std::string shell = entry.pw_shell == nullptr || *entry.pw_shell == 0 ? "/bin/sh" : entry.pw_shell;
  return std::optional<TargetUser>({entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir, shell});
}

std::vector<std::pair<std::string, std::string>> target_environment(std::span<const std::string> own,
                                                                    const std::optional<TargetUser>& user,
                                                                    bool preserve) {
  const std::vector<std::string_view> beginnings = kept_beginnings();
  std::vector<std::pair<std::string, std::string>> variables;
  for (const std::string& entry : own) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      continue;
    }
    std::string name = entry.substr(0, equals);
    if (!user || (!is_of_user(name) && (preserve || is_kept_variable(name, beginnings)))) {
      variables.emplace_back(std::move(name), entry.substr(equals + 1));
    }
  }
  if (user) {
    variables.insert(variables.end(),
                     {{"HOME", user->home}, {"USER", user->name}, {"LOGNAME", user->name}, {"SHELL", user->shell}});
    if (!preserve) {
      variables.emplace_back("PATH", kPath);
    }
  }
  return variables;
}

const char* become_user(const TargetUser& user) {
  if (::setsid() < 0) {
    return "leave the terminal";
  }
  if (!close_on_exec_from(STDERR_FILENO + 1)) {
    return "close gpuprof's descriptors";
  }
  if (::initgroups(user.name.c_str(), user.gid) != 0 || ::setgid(user.gid) != 0 || ::setuid(user.uid) != 0) {
    return "become the user given by --user";
  }
  if (!leave_keyring()) {
    return "join a new session keyring";
  }
  return nullptr;
}

}  // namespace gpuprof::record
