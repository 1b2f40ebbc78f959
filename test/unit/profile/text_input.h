#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "catch.h"
#include "profile/reader.h"
#include "profile/tables.h"
#include "profile/writer.h"

namespace gpuprof::test {

inline UniqueFd text_fd(std::string_view text) {
  UniqueFd fd(::memfd_create("profile", MFD_CLOEXEC));
  REQUIRE(fd);
  while (!text.empty()) {
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    REQUIRE(n > 0);
    text.remove_prefix(static_cast<size_t>(n));
  }
  REQUIRE(::lseek(fd.get(), 0, SEEK_SET) == 0);
  return fd;
}

inline Result<profile::Reader> open_text(std::string_view text, bool lenient = false) {
  return profile::Reader::open(text_fd(text), "p.txt", profile::ReaderOptions{.lenient = lenient});
}

// Reads everything, checks ids, and returns the message of the first error, or "".
inline std::string first_error(std::string_view text) {
  auto reader = open_text(text);
  if (!reader) {
    return reader.error().message;
  }
  profile::Tables tables;
  for (;;) {
    auto next = reader->next();
    if (!next) {
      return next.error().message;
    }
    if (!next->has_value()) {
      return "";
    }
    if (const auto reason = tables.add(**next)) {
      return reader->error_here(*reason).message;
    }
  }
}

inline std::string rewritten(std::string_view text) {
  auto reader = open_text(text);
  REQUIRE(reader);
  std::string out;
  profile::format_header(out);
  for (;;) {
    auto next = reader->next();
    INFO((next ? std::string() : next.error().message));
    REQUIRE(next);
    if (!next->has_value()) {
      return out;
    }
    profile::format_line(**next, out);
  }
}

}  // namespace gpuprof::test
