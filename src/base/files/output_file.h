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
  // An existing file becomes NAME.old. If a program still writes the existing file, the new one gets another name.
  bool keep_old = false;
  mode_t mode = 0666;                                // reduced by the umask, and by the permissions of a replaced file
  StopRequested stop;                                // returns true to end the wait for the reader of a pipe
  const char* busy_hint = "give each its own name";  // hint if another program still writes the file
  // With keep_old: whether a file has no value, so that it must not replace NAME.old. Null: all files have value.
  bool (*is_worthless)(int fd) = nullptr;
};

// A file with a temporary name until commit(), so that an unfinished output replaces nothing. Does not follow a
// symbolic link at the final name.
class OutputFile {
 public:
  // "-" is stdout. Descriptor names, character devices and pipes are written directly. Fails if it is
  // already certain that commit() would fail.
  static Result<OutputFile> open(const std::string& name, const OutputOptions& options);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // removes an uncommitted file

  // Gives the file its name. May be called again after a failure.
  Status commit();
  // Ends a complete file: gives it its final name if necessary, and returns its place(). If the renaming fails, the
  // file keeps a temporary name, which the hint contains. Warns if somebody has moved the file.
  Result<std::string> finish();

  [[nodiscard]] UniqueFd take_fd() { return std::move(fd_); }
  [[nodiscard]] bool is_regular() const { return static_cast<bool>(file_); }
  void set_owner(uid_t uid, gid_t gid) const;                      // only for a regular file
  [[nodiscard]] const std::string& name() const { return name_; }  // the final name, for messages
  // Returns where the file is now: its name, or the real path if its folder was moved. nullopt: it was removed. For
  // special files: the name.
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
  UniqueFd file_;      // second descriptor of the file, to find its place; closed for special files
  UniqueFd folder_;    // folder of the final name
  std::string entry_;  // final name in the folder
  bool keep_old_ = false;
  const char* busy_hint_ = nullptr;
  bool (*is_worthless_)(int fd) = nullptr;
  std::string temporary_;  // current name in the folder; empty after the rename
  std::string name_;
};

}  // namespace gpuprof
