#include "base/credentials.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace gpuprof {
namespace {

// "\nUid:\t1000\t1000\t1000\t1000\n": a name with a newline can not fake one, the kernel escapes it.
bool take_four(std::string_view status, std::string_view name, std::array<uint32_t, 4>& numbers) {
  const std::string key = '\n' + std::string(name) + ':';
  const size_t found = status.find(key);
  if (found == std::string_view::npos) {
    return false;
  }
  std::string_view rest = status.substr(found + key.size());
  for (uint32_t& number : numbers) {
    if (!rest.starts_with('\t')) {
      return false;
    }
    rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{}) {
      return false;
    }
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  }
  return rest.starts_with('\n');
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
