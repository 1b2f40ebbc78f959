// Holds the injection libraries of one recording in a directory. The gpuprof binary contains the libraries.
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
  // files in it, and no other user can replace the directory. Also removes directories that killed recorders have left
  // behind.
  static Result<LibraryDir> make();

  LibraryDir(LibraryDir&& other) noexcept;
  LibraryDir& operator=(LibraryDir&&) = delete;
  LibraryDir(const LibraryDir&) = delete;
  LibraryDir& operator=(const LibraryDir&) = delete;
  // Removes the directory. A process that has mapped a file of it keeps its mapping.
  ~LibraryDir();

  Status unpack(const backend::Backend::Library& library);
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  // The error says why the directory cannot be in `folder`.
  static Result<LibraryDir> make_in(const std::string& folder);

  LibraryDir(SafeFolder parent, std::string name, UniqueFd fd)
      : parent_(std::move(parent)), name_(std::move(name)), fd_(std::move(fd)), path_(parent_.path + "/" + name_) {}
  SafeFolder parent_;
  std::string name_;
  // Holds the lock. Empty after a move: the destructor then removes nothing.
  UniqueFd fd_;
  std::string path_;
};

}  // namespace gpuprof::record
