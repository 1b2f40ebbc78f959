// Accepts connections from targets on sockets that every process on the machine can reach. Closes connections of
// unexpected users without reading them. A caller must send the token. A silent caller, which sends nothing, is dropped
// after a time limit and does not delay other callers.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/few_warnings.h"
#include "base/process/credentials.h"
#include "base/process/process_guard.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/ipc/handshake.h"

namespace gpuprof::record {

struct Caller {
  uint32_t pid = 0;  // from the kernel, so the caller cannot forge it
  Hello hello;
  UniqueFd connection;  // the caller waits here for its welcome, or for the answer to its offer
  // Set if the packet was an offer of GPU code instead of a hello.
  std::optional<CodeOffer> offer = {};
};

// Processes that may connect. Processes of root and of the recorder's user may always connect. Every process also needs
// the token.
struct ExpectedCallers {
  std::optional<uid_t> user;
  // This process and its descendants may connect, whatever their user; 0: the recorder's own pid.
  pid_t ancestor = 0;
};

class Listener {
 public:
  static Result<Listener> open(const ExpectedCallers& expected = {});

  // Also listens at GPUPROF_SOCKET_FILE in the open folder.
  Status listen_in(int folder);
  // Also listens at the same abstract name in the network namespace of the process.
  Status listen_in_network_of(const ProcessGuard& process);
  // Also listens at this socket of listen_in_network_of().
  void listen_at(UniqueFd socket);

  [[nodiscard]] const std::string& name() const { return name_; }  // abstract socket name, without the leading NUL
  [[nodiscard]] const std::string& token() const { return token_; }

  void add_poll_fds(std::vector<pollfd>& fds) const;

  // Returns the callers that have sent a valid first packet since the last call. Does not wait.
  std::vector<Caller> take();

  // Returns whether a process of the recording has connected but not sent its hello yet.
  [[nodiscard]] bool expects_ours();
  // Returns how many processes of the recording were dropped before their hello. They are not recorded.
  [[nodiscard]] uint64_t forgotten() const { return forgotten_; }
  // Returns whether a connection could not be accepted, because gpuprof had no free descriptor.
  [[nodiscard]] bool lacked_descriptors() const { return lacked_descriptors_; }
  void forget_all();

 private:
  struct PendingConnection {
    uint32_t pid;
    UniqueFd connection;
    uint64_t until_ns;  // deadline on clock_ns_
    // Whether the process belongs to the recording; unset: not checked yet.
    std::optional<bool> ours = {};
  };

  explicit Listener(const ExpectedCallers& expected) : expected_(expected) {}
  // Returns true if many or unexpected callers came, so that the listener must pause.
  bool accept_new(std::vector<Caller>& callers);
  // Returns false if no further connection can be accepted now.
  bool accept_one(const UniqueFd& socket, bool& stranger, std::vector<Caller>& callers);
  bool is_expected(const Credentials& peer);
  bool is_ours(PendingConnection& silent) const;
  void forget(PendingConnection& silent);
  bool drop_oldest(std::vector<Caller>& callers);
  // Reads the first packet. Returns false if it has not arrived yet.
  bool listen_to(PendingConnection& silent, std::vector<Caller>& callers);

  ExpectedCallers expected_;
  std::map<uid_t, uint64_t> strange_until_;  // these users are refused until this time (monotonic)
  uint64_t next_accept_ns_ = 0;              // connections are accepted from this time on (monotonic)
  std::string name_;
  std::string token_;
  std::vector<UniqueFd> sockets_;
  std::deque<PendingConnection> silent_;  // oldest first
  size_t max_silent_ = 0;
  uint64_t forgotten_ = 0;
  bool lacked_descriptors_ = false;
  FewWarnings held_up_;
  uint64_t last_take_ns_ = 0;
  uint64_t clock_ns_ = 0;  // clock for time limits; it hardly advances while the recorder is stopped
};

}  // namespace gpuprof::record
