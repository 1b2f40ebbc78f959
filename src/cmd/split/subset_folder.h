// Writes several profiles at the same time into a new folder. The folder appears with all profiles, or not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/records.h"

namespace gpuprof::cmd {

class SubsetFolder {
 public:
  // `path` must not exist, or be an empty folder. Until finish(), the files are in a hidden folder beside it.
  static Result<SubsetFolder> create(const std::string& path);

  SubsetFolder(SubsetFolder&&) noexcept = default;
  SubsetFolder& operator=(SubsetFolder&&) = delete;
  SubsetFolder(const SubsetFolder&) = delete;
  SubsetFolder& operator=(const SubsetFolder&) = delete;
  ~SubsetFolder();  // removes the files unless finish() has succeeded

  // Creates the profile NAME.txt, and returns the index to pass to put(). `name` must be unique and must not contain
  // '/'.
  Result<size_t> add(const std::string& name);
  // Adds a record to a profile. Buffers few bytes per profile, and writes them with only one file open at a time.
  Status put(size_t file, const profile::Record& record);
  Status finish();

  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& name(size_t file) const { return files_[file].name; }

 private:
  struct File {
    std::string name;
    std::string waiting;
  };
  SubsetFolder() = default;
  Status flush(File& file);
  Status flush_all();

  std::string path_;
  std::string entry_;
  UniqueFd parent_;
  std::string temporary_;  // name of the hidden folder in parent_ until finish()
  UniqueFd folder_;
  mode_t mode_ = 0;
  std::optional<gid_t> group_;  // group to give to the folder; nullopt: keep that of gpuprof's user
  std::deque<File> files_;
  size_t waiting_ = 0;  // buffered bytes of all files
  uint64_t bytes_ = 0;
};

}  // namespace gpuprof::cmd
