// Captures what is written to stderr.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace gpuprof::test {

class Stderr {
 public:
  Stderr() : file_(::memfd_create("stderr", MFD_CLOEXEC)), before_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    ::dup2(file_.get(), STDERR_FILENO);
  }
  Stderr(const Stderr&) = delete;
  Stderr& operator=(const Stderr&) = delete;
  ~Stderr() { ::dup2(before_.get(), STDERR_FILENO); }

  [[nodiscard]] std::string text() const {
    std::string all(static_cast<size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
    all.resize(static_cast<size_t>(::pread(file_.get(), all.data(), all.size(), 0)));
    return all;
  }

 private:
  UniqueFd file_;
  UniqueFd before_;
};

inline size_t count(std::string_view text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) {
    ++found;
  }
  return found;
}

}  // namespace gpuprof::test
