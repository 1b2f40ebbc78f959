// Holds the injection libraries of one recording in a directory, unpacked from the gpuprof binary.
#pragma once

#include <string>

#include "backend/backend.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/target/safe_folder.h"

namespace gpuprof::record {

class LibraryDir {
 public:
  // Makes and locks a new directory on a file system that allows executable mappings. Targets of any user can open
  // files in it, and no other user can replace the directory. Removes unlocked directories of killed recorders.
  static Result<LibraryDir> make();

  LibraryDir(LibraryDir&& other) noexcept;
  LibraryDir& operator=(LibraryDir&&) = delete;
  LibraryDir(const LibraryDir&) = delete;
  LibraryDir& operator=(const LibraryDir&) = delete;
  ~LibraryDir();  // removes the directory; processes that have mapped its files are not affected

  Status unpack(const backend::Backend::Library& library);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LibraryDir(SafeFolder parent, std::string name, UniqueFd fd)
      : parent_(std::move(parent)), name_(std::move(name)), fd_(std::move(fd)), path_(parent_.path + "/" + name_) {}
  SafeFolder parent_;
  std::string name_;  // name in the parent
  UniqueFd fd_;       // holds the lock; empty after a move, and the destructor then removes nothing
  std::string path_;
};

}  // namespace gpuprof::record
