// Accepts connections from targets on a socket that every process on the machine can reach. Connections from unexpected
// users are closed unread. A caller must send the token. Silent callers are dropped after a while and delay nobody.
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
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/ipc/handshake.h"

namespace gpuprof::record {

struct Caller {
  uint32_t pid = 0;  // from the kernel
  Hello hello;
  UniqueFd connection;                  // here the caller waits for its welcome, or for the answer to its offer
  std::optional<CodeOffer> offer = {};  // set if the packet was an offer of GPU code, not a hello
};

// Processes that may connect, besides those of root and of the recorder's user. Every process also needs the token.
struct ExpectedCallers {
  std::optional<uid_t> user;  // the user that the target runs as
  pid_t ancestor = 0;         // this process and its descendants may connect as any user; 0: uses the recorder's pid
};

class Listener {
 public:
  static Result<Listener> open(const ExpectedCallers& expected = {});

  [[nodiscard]] const std::string& name() const { return name_; }  // abstract socket name, without the leading NUL
  [[nodiscard]] const std::string& token() const { return token_; }

  // Adds descriptors that become readable when take() has something to do.
  void add_poll_fds(std::vector<pollfd>& fds) const;

  // Returns the callers that have sent a valid first packet since the last call. Does not wait.
  std::vector<Caller> take();

  // Whether a process of the recording has connected but not sent its hello yet.
  [[nodiscard]] bool expects_ours();
  // Number of the recording's processes that were dropped before their hello. They are not recorded.
  [[nodiscard]] uint64_t forgotten() const { return forgotten_; }
  void forget_all();

 private:
  struct PendingConnection {
    uint32_t pid;
    UniqueFd connection;
    uint64_t until_ns;              // deadline on clock_ns_
    std::optional<bool> ours = {};  // unset: not checked yet
  };

  explicit Listener(const ExpectedCallers& expected) : expected_(expected) {}
  bool accept_new(std::vector<Caller>& callers);                  // true: many or unexpected callers came, so pause
  bool accept_one(bool& stranger, std::vector<Caller>& callers);  // false: stop accepting for now
  bool is_expected(const Credentials& peer);
  bool is_ours(PendingConnection& silent) const;
  void forget(PendingConnection& silent);
  bool drop_oldest(std::vector<Caller>& callers);  // returns false if no silent caller is left
  // Reads the first packet. False: it has not arrived yet.
  bool listen_to(PendingConnection& silent, std::vector<Caller>& callers);

  ExpectedCallers expected_;
  std::map<uid_t, uint64_t> strange_until_;  // users that are refused until this time (monotonic)
  uint64_t next_accept_ns_ = 0;              // no connection is accepted before this time (monotonic)
  std::string name_;
  std::string token_;
  UniqueFd socket_;
  std::deque<PendingConnection> silent_;  // oldest first
  size_t max_silent_ = 0;
  uint64_t forgotten_ = 0;
  FewWarnings held_up_;
  uint64_t last_take_ns_ = 0;
  uint64_t clock_ns_ = 0;  // time for timeouts; hardly advances while the recorder is stopped
};

}  // namespace gpuprof::record
