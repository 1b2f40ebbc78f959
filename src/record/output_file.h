// The file that a profile is written to.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof::record {

// Replaces %p (process id of the recorder), %h (host name), %r (rank by the launcher's variables, 0 without) and %%.
Result<std::string> expand_output_name(const std::string& pattern);

// A file to write, under a name of its own until commit(): a recording that does not come about leaves an earlier
// profile in its place.
class OutputFile {
 public:
  // Opens `name` for writing ("-": stdout; a pipe or device: itself).
  static Result<OutputFile> open(const std::string& name);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // removes what has not been committed

  // Gives the file its name; an existing one is kept as NAME.old.
  Status commit();
  // The same for a file that is whole: where it cannot have its name it stays under another, which the error says.
  Status commit_or_keep();

  [[nodiscard]] UniqueFd take_fd() { return std::move(fd_); }
  void set_owner(uid_t uid, gid_t gid) const;                      // of a regular file
  [[nodiscard]] const std::string& name() const { return name_; }  // for messages

 private:
  OutputFile(UniqueFd fd, std::string name, std::string temporary)
      : fd_(std::move(fd)), name_(std::move(name)), temporary_(std::move(temporary)) {}
  UniqueFd fd_;
  std::string name_;
  std::string temporary_;  // empty: nothing to rename
};

}  // namespace gpuprof::record
