// The rights with which a process opens files. gpuprof often runs as root, and opens files that its target names. It
// uses the target's rights, because a profile must not contain what the target could not read.
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
  uint64_t capabilities = 0;  // bit mask; it has only CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH

  bool operator==(const FileRights&) const = default;
};

// `status` is the text of /proc/PID/status. The capabilities of a process in another user namespace are ignored,
// because they give no right to files of gpuprof's namespace. For a set-user-id or set-group-id program, returns the
// ids of the user who started it.
std::optional<FileRights> parse_file_rights(std::string_view status, bool own_user_namespace);

// Reads the rights of the process that owns the open directory /proc/PID. nullopt: the process is gone.
std::optional<FileRights> read_file_rights(int proc_fd);

// Returns the rights common to `first` and `now`. A process loses what it has given up, and does not gain rights that
// it got later (for example by executing a set-user-id program).
FileRights narrowed(const FileRights& first, const FileRights& now);

// While the object exists, this thread opens files with `rights`. A null pointer means gpuprof's own rights. If
// gpuprof is not root, it has only the rights of its user, so the object does nothing. Objects must not be nested.
class ActAs {
 public:
  explicit ActAs(const FileRights* rights);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;

  // False if the rights could not be changed. Then the caller must not open anything.
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void take_on(const FileRights& rights);

  bool ok_ = true;
  std::optional<FileRights> own_;
};

}  // namespace gpuprof
