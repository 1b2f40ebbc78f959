// Reads files that the user has not named and that gpuprof finds by searching, such as .git in the folders above the
// current one. Another user could have put them there. So the file and each folder on the way must belong to root or to
// gpuprof's effective user, nobody else may write them, and symbolic links are not followed. If gpuprof is not root,
// the user's primary group may write them: many systems give each user a group of their own, and a umask that allows
// it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace gpuprof {

class AmbientFolder {
 public:
  // Opens an absolute path. Returns nullopt if the folder is missing or not trusted.
  static std::optional<AmbientFolder> open(std::string_view path);

  // Opens a path that is absolute or relative to this folder, and may contain "..".
  [[nodiscard]] std::optional<AmbientFolder> enter(std::string_view path) const;

  // Returns whether the folder has an entry of this name, of any kind. Returns true if that is not known.
  [[nodiscard]] bool has(const char* name) const;

  // Returns the text of a regular file below this folder. Returns an empty text if the file is missing, not trusted, or
  // larger than `most` bytes. Never blocks.
  [[nodiscard]] std::string read(std::string_view path, size_t most) const;

 private:
  explicit AmbientFolder(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace gpuprof
