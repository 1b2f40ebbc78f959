// The rights with which a process opens files. gpuprof often runs as root and opens what its target names: with the
// target's rights, or a profile would tell what the target could not read itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gpuprof {

struct FileRights {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  uint64_t capabilities = 0;  // to read what the ids may not: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, as bits

  bool operator==(const FileRights&) const = default;
};

// `status` is the text of /proc/PID/status. Capabilities count only in a process of our own user namespace: in another
// one they are no rights to files of ours. Of a set-user-id or set-group-id program the ids of who has started it
// count.
std::optional<FileRights> parse_file_rights(std::string_view status, bool own_user_namespace);

// Of the process behind an open directory /proc/PID, never of a later one with that number. Nothing: it is gone.
std::optional<FileRights> read_file_rights(int proc_fd);

// Those that a user has after a login: of one without a name in the system's list, the id alone and no group's. Never
// capabilities.
FileRights rights_of_user(uid_t uid);

// The rights of a process that had `first` when it was met and has `now`: what it has given up is gone, and what it has
// come to later (by executing a set-user-id program, for instance) does not count.
FileRights narrowed(const FileRights& first, const FileRights& now);

// Opens of this thread are made with `rights` for as long as the object lives. Does nothing where gpuprof is not root,
// as it has no more than its user's rights then, and for null, which stands for our own rights. Objects do not nest.
class ActAs {
 public:
  explicit ActAs(const FileRights* rights);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;

  // False: the rights could not be taken on. Nothing must be opened then.
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void take_on(const FileRights& rights);

  bool ok_ = true;
  std::optional<FileRights> own_;  // to go back to
};

}  // namespace gpuprof
