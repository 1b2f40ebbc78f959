#include "record/target/target_user.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/exit_status.h"
#include "base/process/close_range.h"

namespace gpuprof::record {
namespace {

constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";  // as Debian's sudo
constexpr std::array<std::string_view, 7> kKept = {"TERM",     "COLORTERM", "NO_COLOR", "LANG",
                                                   "LANGUAGE", "TZ",        "DISPLAY"};
constexpr std::array<std::string_view, 8> kKeptBeginnings = {"LC_",     "CUDA_", "NVIDIA_", "OCL_",
                                                             "OPENCL_", "POCL_", "ZE_",     "GPUPROF_"};

bool is_kept(std::string_view name) {
  return std::find(kKept.begin(), kKept.end(), name) != kKept.end() ||
         std::any_of(kKeptBeginnings.begin(), kKeptBeginnings.end(),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

bool is_of_user(std::string_view name) {
  return name == "HOME" || name == "USER" || name == "LOGNAME" || name == "SHELL";
}

// Where the kernel has no keyrings, or a container's filter forbids them, there is none to be taken from us either.
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
    return Error{"--user: there is no user '" + name + "'", "use a name of /etc/passwd, e.g. --user $SUDO_USER",
                 kExitUsage};
  }
  const std::string shell = entry.pw_shell == nullptr || *entry.pw_shell == 0 ? "/bin/sh" : entry.pw_shell;
  return std::optional<TargetUser>({entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir, shell});
}

std::vector<std::pair<std::string, std::string>> target_environment(std::span<const std::string> own,
                                                                    const std::optional<TargetUser>& user,
                                                                    bool preserve) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const std::string& entry : own) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      continue;
    }
    std::string name = entry.substr(0, equals);
    if (!user || (!is_of_user(name) && (preserve || is_kept(name)))) {
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
    return "leave the descriptors of gpuprof";
  }
  if (::initgroups(user.name.c_str(), user.gid) != 0 || ::setgid(user.gid) != 0 || ::setuid(user.uid) != 0) {
    return "become the user given by --user";
  }
  if (!leave_keyring()) {
    return "get a keyring of its own";
  }
  return nullptr;
}

}  // namespace gpuprof::record
