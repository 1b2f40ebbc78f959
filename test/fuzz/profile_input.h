#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/unique_fd.h"
#include "profile/reader.h"

namespace gpuprof::fuzz {

inline void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

inline UniqueFd descriptor_of(std::string_view text) {
  UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  require(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  require(::lseek(fd.get(), 0, SEEK_SET) == 0);
  return fd;
}

// Only one input in 64 is read through a descriptor, because making a file costs more than reading most inputs. The
// others are read from memory.
inline Result<profile::Reader> open(std::string_view text, profile::ReaderOptions options = {}) {
  return text.size() % 64 == 0 ? profile::Reader::open(descriptor_of(text), "fuzz", options)
                               : profile::Reader::open_text(text, "fuzz", options);
}

}  // namespace gpuprof::fuzz
