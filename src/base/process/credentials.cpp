#include "base/process/credentials.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/process/process_status.h"

namespace gpuprof {
namespace {

bool take_four(std::string_view status, std::string_view name, std::array<uint32_t, 4>& numbers) {
  const auto all = status_numbers<uint32_t>(status, name);
  if (!all || all->size() != numbers.size()) {
    return false;
  }
  std::copy(all->begin(), all->end(), numbers.begin());
  return true;
}

}  // namespace

std::optional<Credentials> peer_credentials(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || bytes != sizeof(peer)) {
    return std::nullopt;
  }
  return Credentials{peer.pid, peer.uid, peer.gid};
}

bool ProcessUsers::are_all(uid_t uid, gid_t gid) const {
  return std::all_of(uids.begin(), uids.end(), [uid](uid_t one) { return one == uid; }) &&
         std::all_of(gids.begin(), gids.end(), [gid](gid_t one) { return one == gid; });
}

std::optional<ProcessUsers> parse_users(std::string_view status) {
  ProcessUsers users;
  if (!take_four(status, "Uid", users.uids) || !take_four(status, "Gid", users.gids)) {
    return std::nullopt;
  }
  return users;
}

}  // namespace gpuprof
