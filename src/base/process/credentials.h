// The identity of a process, as the kernel reports it.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string_view>

namespace gpuprof {

// Ids in gpuprof's namespaces. A user that has no id there is 65534, and a process outside of the pid namespace has
// pid 0.
struct Credentials {
  pid_t pid = 0;
  uid_t uid = 0;  // effective user id
  gid_t gid = 0;
};

// Returns the credentials of a Unix socket's peer. The kernel stored a client's credentials at connect(), and a
// server's at listen().
std::optional<Credentials> peer_credentials(int socket);

struct ProcessUsers {
  std::array<uid_t, 4> uids{};  // real, effective, saved and file system ids
  std::array<gid_t, 4> gids{};

  // True if the process has only the rights of this user and group, and can not regain others.
  [[nodiscard]] bool are_all(uid_t uid, gid_t gid) const;
};

// `status` is the text of /proc/PID/status.
std::optional<ProcessUsers> parse_users(std::string_view status);

}  // namespace gpuprof
