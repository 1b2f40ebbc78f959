// A directory that holds the injection libraries of one session, unpacked from the gpuprof binary.
#pragma once

#include <string>

#include "backend/backend.h"
#include "base/result.h"

namespace gpuprof::record {

class LibraryDir {
 public:
  // Makes a new directory that targets of any user can read, on a file system that allows mapping code.
  static Result<LibraryDir> make();

  LibraryDir(LibraryDir&& other) noexcept;
  LibraryDir& operator=(LibraryDir&&) = delete;
  LibraryDir(const LibraryDir&) = delete;
  LibraryDir& operator=(const LibraryDir&) = delete;
  ~LibraryDir();  // removes what was unpacked; processes that have it mapped go on unharmed

  Status unpack(const backend::Backend::Library& library);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit LibraryDir(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty: nothing to remove
};

}  // namespace gpuprof::record
