// The socket that targets connect to. Everybody on the machine can connect: who runs as a user that we expect nobody of
// is let go of at once, unread. A caller is one of ours once it has sent the token. A caller that sends nothing is
// forgotten after a while, and holds nobody up meanwhile.
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
  uint32_t pid = 0;  // as the kernel says
  Hello hello;
  UniqueFd connection;                  // where it waits for its welcome, or for the answer to its offer
  std::optional<CodeOffer> offer = {};  // it is no new process, but one that has code to hand over
};

// Whose processes may connect at all, besides root's and our own user's: the token then decides.
struct ExpectedCallers {
  std::optional<uid_t> user;  // that the target runs as
  pid_t ancestor = 0;         // this process and its descendants, whoever they run as; 0: us
};

class Listener {
 public:
  static Result<Listener> open(const ExpectedCallers& expected = {});

  [[nodiscard]] const std::string& name() const { return name_; }  // of the abstract socket, without the leading NUL
  [[nodiscard]] const std::string& token() const { return token_; }

  // Descriptors whose readability means that take() has something to do.
  void add_poll_fds(std::vector<pollfd>& fds) const;

  // Those that have said hello since the last call. Does not wait.
  std::vector<Caller> take();

  // Whether a process that was started for this recording has called, and may yet say hello.
  [[nodiscard]] bool expects_ours();
  // Such processes, of those that were forgotten: they are not recorded.
  [[nodiscard]] uint64_t forgotten() const { return forgotten_; }
  void forget_all();

 private:
  struct Silent {
    uint32_t pid;
    UniqueFd connection;
    uint64_t until_ns;              // of clock_ns_
    std::optional<bool> ours = {};  // where it has been looked at
  };

  explicit Listener(const ExpectedCallers& expected) : expected_(expected) {}
  bool accept_new(std::vector<Caller>& callers);                  // whether there were strangers, or many
  bool accept_one(bool& stranger, std::vector<Caller>& callers);  // false: nobody waits
  bool is_expected(const Credentials& peer);
  bool is_ours(Silent& silent) const;
  void forget(Silent& silent);
  bool let_go_of_oldest(std::vector<Caller>& callers);  // false: there is none
  // False: it may still say something.
  bool listen_to(Silent& silent, std::vector<Caller>& callers);

  ExpectedCallers expected_;
  std::map<uid_t, uint64_t> strange_until_;  // users none of whose processes are looked at before then (monotonic)
  uint64_t next_accept_ns_ = 0;              // monotonic
  std::string name_;
  std::string token_;
  UniqueFd socket_;
  std::deque<Silent> silent_;  // in the order in which they came
  size_t max_silent_ = 0;
  uint64_t forgotten_ = 0;
  FewWarnings held_up_;
  uint64_t last_take_ns_ = 0;
  uint64_t clock_ns_ = 0;  // stands still while we do
};

}  // namespace gpuprof::record
