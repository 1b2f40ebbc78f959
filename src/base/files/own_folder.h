// Opens folders whose files decide what gpuprof reports, such as the profiles that `check` compares. Root or gpuprof's
// user must own such a folder, and nobody else may write it. A descriptor keeps it open, so moving or replacing it has
// no effect on a running command.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gpuprof {

bool is_of_user_or_root(const struct stat& info);

// Returns whether users other than root and gpuprof's user may write a file. If gpuprof is not root, the user's primary
// group does not count: many systems give each user a group of their own, and a umask that allows it to write.
bool others_can_write(const struct stat& info);

// What OwnFolder::open() does if the folder is missing.
enum class IfMissing : uint8_t { fail, make, make_with_parents };

class OwnFolder {
 public:
  // Opens a folder, component by component like open_folder().
  static Result<OwnFolder> open(const std::string& path, IfMissing if_missing = IfMissing::fail);

  // Makes a folder. Returns nullopt if something has that name.
  static Result<std::optional<OwnFolder>> make(const std::string& path);

  // Opens or makes a folder in this folder.
  [[nodiscard]] Result<OwnFolder> enter(const std::string& name, IfMissing if_missing = IfMissing::fail) const;

  // Returns whether the folder has an entry of this name, of any kind.
  [[nodiscard]] bool has(const std::string& name) const;

  [[nodiscard]] Result<std::vector<std::string>> names() const;  // sorted

  // Opens a regular file for reading. Never blocks.
  [[nodiscard]] Result<UniqueFd> read(const std::string& name) const;

  [[nodiscard]] Status move_entry(const std::string& from, const std::string& to) const;

  // Removes a folder in this folder, and the files in it.
  void remove(const std::string& name) const;

  [[nodiscard]] const UniqueFd& fd() const { return fd_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns where the folder is now: path(), or its real path if somebody has moved it.
  [[nodiscard]] std::string place() const;
  [[nodiscard]] std::string path_of(const std::string& name) const;  // for messages

 private:
  OwnFolder(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  static Result<OwnFolder> checked(UniqueFd fd, const std::string& path);

  UniqueFd fd_;
  std::string path_;
};

}  // namespace gpuprof
