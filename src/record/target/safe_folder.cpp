#include "record/target/safe_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/files/safe_open.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"

namespace gpuprof::record {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }  // NOLINT: realpath's memory
};

Error unsafe(const std::string& component, const std::string& why) {
  return {component + " " + why, "set TMPDIR to a folder that only you and root can change"};
}

Status check(const std::string& component, const struct stat& info, uid_t ruler, bool for_everybody) {
  if (info.st_uid != 0 && info.st_uid != ::geteuid() && info.st_uid != ruler) {
    return unsafe(component, "belongs to another user");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0) {
    return unsafe(component, "can be written to by other users");
  }
  if (for_everybody && (info.st_mode & S_IXOTH) == 0) {
    return Error{component + " cannot be entered by other users",
                 "set TMPDIR to a folder that other users can enter, but not change"};
  }
  return {};
}

Error cannot_open(const std::string& path) {
  const int error = errno;
  return {"cannot open " + path + ": " + std::strerror(error),
          hints::of_error(error, "set TMPDIR to a folder that exists")};
}

}  // namespace

Result<SafeFolder> open_safe_folder(const std::string& path, bool for_everybody) {
  // The check covers the resolved path. The links in `path` need no check.
  const std::unique_ptr<char, Free> resolved(::realpath(path.c_str(), nullptr));
  if (!resolved) {
    return cannot_open(path);
  }
  SafeFolder folder{locate(AT_FDCWD, "/", O_DIRECTORY), ""};
  struct stat info {};
  if (!folder.fd || ::fstat(folder.fd.get(), &info) != 0) {
    return cannot_open("/");
  }
  // The owner of "/" is the machine's root. In a user namespace, the id of that user may not be 0.
  const uid_t ruler = info.st_uid;
  RETURN_IF_ERROR(check("/", info, ruler, for_everybody));
  std::string_view rest(resolved.get());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(name.size());
    if (name.empty()) {
      continue;  // the path is "/"
    }
    folder.path += "/" + name;
    UniqueFd next = locate(folder.fd.get(), name, O_DIRECTORY | O_NOFOLLOW);
    if (!next || ::fstat(next.get(), &info) != 0) {
      return cannot_open(folder.path);
    }
    RETURN_IF_ERROR(check(folder.path, info, ruler, for_everybody));
    folder.fd = std::move(next);
  }
  return folder;
}

}  // namespace gpuprof::record
