// Who a process is, as the kernel says: nothing here is the process's own word.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string_view>

namespace gpuprof {

// As our namespaces have them: a user that ours does not map is 65534, a process outside of ours has the pid 0.
struct Credentials {
  pid_t pid = 0;
  uid_t uid = 0;  // effective
  gid_t gid = 0;
};

// Of the process at the other end of a Unix socket, when it called connect() (or listen(), for who has connected).
std::optional<Credentials> peer_credentials(int socket);

// The users and groups of a process.
struct ProcessUsers {
  std::array<uid_t, 4> uids{};  // real, effective, saved, for files
  std::array<gid_t, 4> gids{};

  // It has the rights of one user and group, and none to go back to.
  [[nodiscard]] bool are_all(uid_t uid, gid_t gid) const;
};

// `status` is the text of /proc/PID/status.
std::optional<ProcessUsers> parse_users(std::string_view status);

}  // namespace gpuprof
