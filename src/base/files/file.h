// Files: opening input, and output that is there as a whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text/text_stream.h"
#include "base/unique_fd.h"

namespace gpuprof {

// Opens `path` for reading; "-" is standard input. A directory is refused here, where the message can be plain.
Result<UniqueFd> open_input(const std::string& path);

// What was read from a descriptor, up to its end or a limit.
struct BoundedText {
  enum class End : uint8_t { whole, too_large, failed };
  std::string text;  // at most the limit; what was read by then, where it is not whole
  End end = End::whole;
  int error = 0;  // errno of `failed`
};

// For small files, of which more than `most` bytes would be a mistake or an attack.
BoundedText read_bounded(int fd, size_t most);

// What can be read of a file below the open folder (AT_FDCWD for a path), `most` bytes of it; empty where that is
// nothing. For the files of /proc, which have no size and may go away at any time.
std::string read_text(int folder, const char* name, size_t most);

// Its first line, without the newline; empty where that cannot be read.
std::string first_line(const std::string& path);

// Writes all of `text`. A closed pipe (EPIPE) is an Error without a message: the reader has seen enough.
Status write_all(int fd, std::string_view text, const std::string& name);
Status write_all(int fd, std::span<const unsigned char> bytes, const std::string& name);

// Puts `text` into `path` as OutputFile does, so that a failure leaves what was there before; "-" is standard output.
Status write_output(const std::string& path, std::string_view text);

// The same for a text that `write` hands on piece by piece.
Status write_output(const std::string& path, const std::function<void(TextStream&)>& write);

struct WrittenFile {
  std::string place;   // where it is
  uint64_t bytes = 0;  // of it
  bool regular = false;
};

// Puts what `write` hands on into a file that nobody has to fear for: one that was there is kept as NAME.old.
Result<WrittenFile> write_keeping_old(const std::string& path, const std::function<void(TextStream&)>& write);

// For as long as it lives, a limit on the size of files (ulimit -f) is an error of write() and does not end us.
class FileLimitAsError {
 public:
  FileLimitAsError();
  ~FileLimitAsError();
  FileLimitAsError(const FileLimitAsError&) = delete;
  FileLimitAsError& operator=(const FileLimitAsError&) = delete;

 private:
  void (*before_)(int);
};

// Closes what was written; where the bytes come to the disk only then, their failure comes then, too.
Status close_written(UniqueFd fd, const std::string& name);

}  // namespace gpuprof
