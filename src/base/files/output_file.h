// Writes a file that the user has named. Other users who can write to its folder or own an existing file there can
// neither redirect the output nor block gpuprof.
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
  // Renames an existing file to NAME.old. If a program still writes the existing file, the new file gets another name
  // instead.
  bool keep_old = false;
  // Permissions of the new file. The umask reduces them, and so do the permissions of a file that is replaced.
  mode_t mode = 0666;
  StopRequested stop;                                // ends the wait for a pipe's reader
  const char* busy_hint = "give each its own name";  // hint for when another program still writes the file
  // With keep_old: returns whether a file is worthless, so that it must not replace NAME.old. Null: no file is
  // worthless.
  bool (*is_worthless)(int fd) = nullptr;
};

// Puts the number before the ending of the file name: "x.txt" -> "x.1.txt".
std::string numbered_name(const std::string& name, const std::string& number);

// Writes a file under a temporary name, which commit() changes to the final name, so that an unfinished output
// replaces no file. Does not follow a symbolic link at the final name.
class OutputFile {
 public:
  // "-" is stdout. Names of descriptors, character devices and pipes are written directly. Fails if commit() would
  // certainly fail.
  static Result<OutputFile> open(const std::string& name, const OutputOptions& options);

  // Like open(), for the last component of `name` in an open folder, even if that is elsewhere now.
  static Result<OutputFile> open_in(const UniqueFd& folder, const std::string& name, const OutputOptions& options);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // removes the file if commit() has not succeeded

  // Renames the file to its final name. May be called again after a failure.
  Status commit();
  // Ends a complete file: gives it its final name if it still has a temporary one, and returns its place(). If the
  // renaming fails, the file keeps its temporary name, which the hint contains. Warns if somebody has moved the file.
  Result<std::string> finish();

  // Renames regular files in the output's folder to NAME.old if they have the output's name with a number in it
  // (numbered_name()), and if `is_meant` returns true for them. Skips files that a program still writes. Warns if a
  // file cannot be renamed.
  void set_aside_numbered(bool (*is_meant)(int fd)) const;

  // Removes a regular file that commit() has named. Does nothing if another file has its name now.
  Status remove();

  [[nodiscard]] UniqueFd take_fd() { return std::move(fd_); }
  [[nodiscard]] bool is_regular() const { return static_cast<bool>(file_); }
  void set_owner(uid_t uid, gid_t gid) const;                      // only for regular files
  [[nodiscard]] const std::string& name() const { return name_; }  // final name, for messages
  // Returns where the file is now: its name, or its real path if somebody has moved its folder. nullopt: it was
  // removed. For a special file, returns its name.
  [[nodiscard]] std::optional<std::string> place() const;

 private:
  OutputFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  [[nodiscard]] bool is_in(const UniqueFd& folder) const;  // under its final name
  Status check_replaceable() const;
  Status check_old(const struct stat& folder) const;
  Status make_temporary(mode_t mode);
  void narrow(mode_t before) const;
  Status rotate() const;
  [[nodiscard]] bool would_lose_old() const;
  [[nodiscard]] bool is_being_written() const;
  void take_another_name();

  UniqueFd fd_;
  UniqueFd file_;  // another descriptor of the file, used to find its path; not open for special files
  UniqueFd folder_;
  std::string entry_;  // final file name
  bool keep_old_ = false;
  const char* busy_hint_ = nullptr;
  bool (*is_worthless_)(int fd) = nullptr;
  std::string temporary_;  // temporary file name; empty after the rename
  std::string name_;
};

}  // namespace gpuprof
