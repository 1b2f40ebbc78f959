// The identity of a process. All data is from the kernel, not from the process.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string_view>

namespace gpuprof {

// In gpuprof's namespaces: a user without mapping is 65534, and a process outside the pid namespace has pid 0.
struct Credentials {
  pid_t pid = 0;
  uid_t uid = 0;  // effective
  gid_t gid = 0;
};

// Returns the credentials that the peer of a Unix socket had when it called connect(), or listen() if it is the server.
std::optional<Credentials> peer_credentials(int socket);

// The users and groups of a process.
struct ProcessUsers {
  std::array<uid_t, 4> uids{};  // real, effective, saved, file system
  std::array<gid_t, 4> gids{};

  // True if the process has only the rights of this user and group, and can not regain others.
  [[nodiscard]] bool are_all(uid_t uid, gid_t gid) const;
};

// `status` is the text of /proc/PID/status.
std::optional<ProcessUsers> parse_users(std::string_view status);

}  // namespace gpuprof
