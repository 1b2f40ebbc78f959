#include "base/files/file_rights.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/process/process_status.h"

namespace gpuprof {
namespace {

constexpr uint64_t kReadsAll = uint64_t{1} << CAP_DAC_OVERRIDE | uint64_t{1} << CAP_DAC_READ_SEARCH;

// Returns nullopt if the process has ended.
std::optional<bool> is_in_own_user_namespace(int proc_fd) {
  struct stat theirs {};
  struct stat ours {};
  if (::stat("/proc/self/ns/user", &ours) != 0) {
    return true;  // a kernel without user namespaces has only one
  }
  if (::fstatat(proc_fd, "ns/user", &theirs, 0) != 0) {
    return std::nullopt;
  }
  return theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

// Makes the system calls directly, because libc's functions change all threads of the process, or return no result.
uid_t set_fsuid(uid_t uid) {
  return static_cast<uid_t>(::syscall(SYS_setfsuid, uid));
}
gid_t set_fsgid(gid_t gid) {
  return static_cast<gid_t>(::syscall(SYS_setfsgid, gid));
}
// This id is invalid. With it, the system call changes nothing and returns the current id.
constexpr uid_t kAskOnly = static_cast<uid_t>(-1);

bool set_ids(const FileRights& rights, const FileRights& present) {
  if (rights.groups != present.groups && ::syscall(SYS_setgroups, rights.groups.size(), rights.groups.data()) != 0) {
    return false;
  }
  set_fsgid(rights.gid);
  set_fsuid(rights.uid);
  return set_fsgid(kAskOnly) == rights.gid && set_fsuid(kAskOnly) == rights.uid;
}

using CapabilityData = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

bool get_capabilities(CapabilityData& data) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capget, &header, data.data()) == 0;
}

// Sets the two capabilities of kReadsAll to `wanted`. The kernel may clear them when the user id becomes nonzero, and
// restore them when it becomes 0. This depends on the thread's security bits, so this function always sets the
// capabilities.
bool set_capabilities(uint64_t wanted) {
  CapabilityData data{};
  if (!get_capabilities(data)) {
    return false;
  }
  const auto all = static_cast<uint32_t>(kReadsAll);
  const uint32_t effective = (data[0].effective & ~all) | (static_cast<uint32_t>(wanted) & all & data[0].permitted);
  if (effective == data[0].effective) {
    return true;
  }
  data[0].effective = effective;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

// When a process changes its ids, the kernel makes it undumpable: it gets no core dumps, and no debugger may attach.
bool was_dumpable() {
  static const bool dumpable = ::prctl(PR_GET_DUMPABLE) == 1;
  return dumpable;
}

std::optional<FileRights> rights_of_this_thread() {
  FileRights rights;
  CapabilityData data{};
  const int count = ::getgroups(0, nullptr);
  rights.groups.resize(static_cast<size_t>(std::max(count, 0)));
  if (count < 0 || ::getgroups(count, rights.groups.data()) != count || !get_capabilities(data)) {
    return std::nullopt;
  }
  rights.uid = set_fsuid(kAskOnly);
  rights.gid = set_fsgid(kAskOnly);
  rights.capabilities = data[0].effective & kReadsAll;
  return rights;
}

}  // namespace

std::optional<FileRights> parse_file_rights(std::string_view status, bool own_user_namespace) {
  enum { kReal, kEffective, kSaved, kFileSystem, kIds };
  const auto uids = status_numbers<uid_t>(status, "Uid");
  const auto gids = status_numbers<gid_t>(status, "Gid");
  auto groups = status_numbers<gid_t>(status, "Groups");
  const auto capabilities = status_numbers<uint64_t>(status, "CapEff", 16);
  if (!uids || !gids || !groups || uids->size() != kIds || gids->size() != kIds || !capabilities ||
      capabilities->size() != 1) {
    return std::nullopt;
  }
  FileRights rights;
  const bool started_by_root = (*uids)[kReal] == 0;
  rights.uid = (*uids)[started_by_root ? kFileSystem : kReal];
  rights.gid = (*gids)[started_by_root ? kFileSystem : kReal];
  rights.groups = std::move(*groups);
  rights.capabilities = rights.uid == 0 && own_user_namespace ? capabilities->front() & kReadsAll : 0;
  return rights;
}

std::optional<FileRights> read_file_rights(int proc_fd) {
  const std::string status = read_status(proc_fd);
  const std::optional<bool> own_user_namespace = is_in_own_user_namespace(proc_fd);
  return own_user_namespace ? parse_file_rights(status, *own_user_namespace) : std::nullopt;
}

FileRights narrowed(const FileRights& first, const FileRights& now) {
  if (first.uid != 0 && now.uid != first.uid) {
    return first;
  }
  FileRights both = now;
  both.capabilities &= first.capabilities;
  if (first.uid == 0) {
    return both;
  }
  const auto had = [&](gid_t group) {
    return group == first.gid || std::find(first.groups.begin(), first.groups.end(), group) != first.groups.end();
  };
  both.gid = had(now.gid) ? now.gid : first.gid;
  std::erase_if(both.groups, [&](gid_t group) { return !had(group); });
  return both;
}

ActAs::ActAs(const FileRights* rights) {
  if (rights != nullptr && ::geteuid() == 0) {
    take_on(*rights);
  }
}

void ActAs::take_on(const FileRights& rights) {
  std::optional<FileRights> own = rights_of_this_thread();
  if (own && *own == rights) {
    return;
  }
  was_dumpable();  // caches the flag before set_ids() makes the kernel clear it
  ok_ = own && set_ids(rights, *own) && set_capabilities(rights.capabilities);
  own_ = std::move(own);
}

ActAs::~ActAs() {
  if (!own_) {
    return;
  }
  // Restores the ids first, because this needs no capability. If setgroups() then fails, the thread has fewer rights
  // than before, never more.
  set_fsuid(own_->uid);
  set_fsgid(own_->gid);
  ::syscall(SYS_setgroups, own_->groups.size(), own_->groups.data());
  set_capabilities(own_->capabilities);
  if (was_dumpable()) {
    ::prctl(PR_SET_DUMPABLE, 1);
  }
}

}  // namespace gpuprof
