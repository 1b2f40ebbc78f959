// A folder of profiles that are written side by side: there as a whole, or not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/records.h"

namespace gpuprof::cmd {

class PartFolder {
 public:
  // `path` must not exist, or be an empty folder. What is written lies beside it, hidden, until finish().
  static Result<PartFolder> create(const std::string& path);

  PartFolder(PartFolder&&) noexcept = default;
  PartFolder& operator=(PartFolder&&) = delete;
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  ~PartFolder();  // removes what was not finished

  // A new profile NAME.txt, for put(). `name` has no '/', and is used once.
  Result<size_t> add(const std::string& name);
  // One file is open at a time, and what waits to be written is of limited size.
  Status put(size_t file, const profile::Record& record);
  Status finish();

  [[nodiscard]] uint64_t bytes() const { return bytes_; }  // written so far
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& name(size_t file) const { return files_[file].name; }

 private:
  struct File {
    std::string name;
    std::string waiting;
  };
  PartFolder() = default;
  Status flush(File& file);
  Status flush_all();

  std::string path_;
  std::string entry_;      // its name in
  UniqueFd parent_;        // this
  std::string temporary_;  // its name in there until finish()
  UniqueFd folder_;
  mode_t mode_ = 0;                               // that it gets
  std::optional<std::pair<uid_t, gid_t>> owner_;  // that it gets, where that is not us
  std::deque<File> files_;
  size_t waiting_ = 0;  // bytes
  uint64_t bytes_ = 0;
};

}  // namespace gpuprof::cmd
