// A directory that holds the injection libraries of one session, unpacked from the gpuprof binary.
#pragma once

#include <string>

#include "backend/backend.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/target/safe_folder.h"

namespace gpuprof::record {

class LibraryDir {
 public:
  // Makes a new directory that targets of any user can open files in, on a file system that allows mapping code, and
  // that nobody else can put another one in the place of. It is locked as long as this object lives: what is not locked
  // is of a recorder that was killed, and is removed here.
  static Result<LibraryDir> make();

  LibraryDir(LibraryDir&& other) noexcept;
  LibraryDir& operator=(LibraryDir&&) = delete;
  LibraryDir(const LibraryDir&) = delete;
  LibraryDir& operator=(const LibraryDir&) = delete;
  ~LibraryDir();  // removes what was unpacked; processes that have it mapped go on unharmed

  Status unpack(const backend::Backend::Library& library);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LibraryDir(SafeFolder parent, std::string name, UniqueFd fd)
      : parent_(std::move(parent)), name_(std::move(name)), fd_(std::move(fd)), path_(parent_.path + "/" + name_) {}
  SafeFolder parent_;
  std::string name_;  // in the parent
  UniqueFd fd_;       // carries the lock; not open: nothing to remove
  std::string path_;
};

}  // namespace gpuprof::record
