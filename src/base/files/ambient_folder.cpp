#include "base/files/ambient_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/file.h"
#include "base/files/own_folder.h"
#include "base/files/safe_open.h"

namespace gpuprof {
namespace {

// In a sticky folder such as /tmp, others can create entries, but not replace those of root and gpuprof's user.
bool is_trusted(const struct stat& info) {
  const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  return is_of_user_or_root(info) && (sticky || !others_can_write(info));
}

// Opens an entry with O_PATH, which has no side effects, and checks it. Returns a closed descriptor if it is not
// trusted or of another kind.
UniqueFd place(int folder, const std::string& name, mode_t kind) {
  UniqueFd fd = locate(folder, name, O_NOFOLLOW);
  struct stat info {};
  const bool ok = fd && ::fstat(fd.get(), &info) == 0 && (info.st_mode & S_IFMT) == kind && is_trusted(info);
  return ok ? std::move(fd) : UniqueFd();
}

UniqueFd walk(UniqueFd folder, std::string_view path) {
  while (folder && !path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash != 0) {
      folder = place(folder.get(), std::string(path.substr(0, slash)), S_IFDIR);
    }
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return folder;
}

}  // namespace

std::optional<AmbientFolder> AmbientFolder::open(std::string_view path) {
  UniqueFd fd = path.starts_with('/') ? walk(place(AT_FDCWD, "/", S_IFDIR), path) : UniqueFd();
  return fd ? std::optional(AmbientFolder(std::move(fd))) : std::nullopt;
}

std::optional<AmbientFolder> AmbientFolder::enter(std::string_view path) const {
  if (path.starts_with('/')) {
    return open(path);
  }
  UniqueFd fd = walk(place(fd_.get(), ".", S_IFDIR), path);
  return fd ? std::optional(AmbientFolder(std::move(fd))) : std::nullopt;
}

bool AmbientFolder::has(const char* name) const {
  struct stat info {};
  return ::fstatat(fd_.get(), name, &info, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

std::string AmbientFolder::read(std::string_view path, size_t most) const {
  const size_t slash = path.rfind('/');
  const auto folder = enter(slash == std::string_view::npos ? "" : path.substr(0, slash));
  if (!folder) {
    return {};
  }
  const std::string name(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
  const UniqueFd fd = reopen_regular(place(folder->fd_.get(), name, S_IFREG));
  BoundedText read = fd ? read_bounded(fd.get(), most) : BoundedText{.text = {}, .end = BoundedText::End::failed};
  return read.end == BoundedText::End::whole ? std::move(read.text) : std::string();
}

}  // namespace gpuprof
