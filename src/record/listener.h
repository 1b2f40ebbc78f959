// The socket that targets connect to. A caller is one of ours once it has said the token; who says nothing is forgotten
// after a while, and holds nobody up meanwhile.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/wire.h"

namespace gpuprof::record {

struct Caller {
  uint32_t pid = 0;  // as the kernel says
  gpuprof_hello hello{};
  UniqueFd connection;  // where it waits for its welcome
};

class Listener {
 public:
  static Result<Listener> open();

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

  Listener() = default;
  void accept_new();
  bool is_ours(Silent& silent) const;
  void forget(Silent& silent);
  bool forget_oldest();  // false: there is none
  // False: it may still say something.
  bool listen_to(Silent& silent, std::vector<Caller>& callers);

  std::string name_;
  std::string token_;
  UniqueFd socket_;
  std::deque<Silent> silent_;  // in the order in which they came
  size_t max_silent_ = 0;
  uint64_t forgotten_ = 0;
  uint64_t last_take_ns_ = 0;
  uint64_t clock_ns_ = 0;  // stands still while we do
};

}  // namespace gpuprof::record
