// The one way to write a file that a user has named. Whoever else may write in its folder, or owns what is there,
// neither chooses where the bytes go nor keeps us waiting.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/files/special_output.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

struct OutputOptions {
  // An existing file becomes NAME.old. One that another program still writes stays, and ours gets a name of its own.
  bool keep_old = false;
  mode_t mode = 0666;  // less the umask, and less what a file that is replaced does not permit
  StopRequested stop;  // of the waiting for a pipe's reader
  const char* busy_hint = "give each its own name";  // where another program still writes it
  // With keep_old: of an open regular file that there is nothing in it for which a NAME.old should be lost. It is
  // replaced where there is one. None: every file is worth it.
  bool (*is_worthless)(int fd) = nullptr;
};

// A file to write, under a name of its own until commit(): what is not finished leaves an earlier file in its place.
// A symbolic link at the name itself is replaced and not followed.
class OutputFile {
 public:
  // "-" is stdout; names of open descriptors, character devices and pipes are written to directly. What will keep the
  // file from getting its name is an error here already, where it can be known.
  static Result<OutputFile> open(const std::string& name, const OutputOptions& options);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // removes what has not been committed

  // Gives the file its name. After a failure it can be tried again.
  Status commit();
  // For a file that is whole: gives it its name, if it has none yet, and returns its place(). Where it cannot have that
  // name it stays under another, which the hint says; where it is not what its name leads to, the user is told.
  Result<std::string> finish();

  [[nodiscard]] UniqueFd take_fd() { return std::move(fd_); }
  [[nodiscard]] bool is_regular() const { return static_cast<bool>(file_); }
  void set_owner(uid_t uid, gid_t gid) const;                      // of a regular file
  [[nodiscard]] const std::string& name() const { return name_; }  // the one that it gets; for messages
  // Where the file is now: its name, but where that leads elsewhere (its folder was moved), the real path. nullopt: it
  // has been removed. Others than regular files have their name only.
  [[nodiscard]] std::optional<std::string> place() const;

 private:
  OutputFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  static Result<OutputFile> open_named(const std::string& name, const OutputOptions& options);
  Status check_replaceable() const;
  Status check_old(const struct stat& folder) const;
  Status make_temporary(mode_t mode);
  void narrow(mode_t before) const;
  Status rotate() const;
  [[nodiscard]] bool would_lose_old() const;
  [[nodiscard]] bool is_being_written() const;
  void take_another_name();

  UniqueFd fd_;
  UniqueFd file_;      // the same file, to find it again; regular ones only, as are the next four
  UniqueFd folder_;    // where it is to have its name
  std::string entry_;  // its name in there
  bool keep_old_ = false;
  const char* busy_hint_ = nullptr;
  bool (*is_worthless_)(int fd) = nullptr;
  std::string temporary_;  // its name in there until then; empty: nothing to rename
  std::string name_;
};

}  // namespace gpuprof
