// Opens input files. Writes output files completely or not at all.
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

// Opens `path` for reading; "-" is standard input. Accepts regular files and pipes, and opens nothing else.
Result<UniqueFd> open_input(const std::string& path);

struct BoundedText {
  enum class End : uint8_t { whole, too_large, failed };
  std::string text;  // all of the text if `end` is whole, else its beginning
  End end = End::whole;
  int error = 0;  // errno if `end` is failed
};

// Reads a small file. A file of more than `most` bytes would be a mistake or an attack.
BoundedText read_bounded(int fd, size_t most);

// Reads at most `most` bytes of a regular file below the open folder. Returns an empty string on errors and for other
// kinds of files. For files of /proc, which have no size and may disappear at any time.
std::string read_text(int folder, const std::string& name, size_t most);
std::string read_text(const std::string& path, size_t most);

// Reads a symbolic link below the open folder (AT_FDCWD: a path). If `name` is empty, `folder` is itself an open
// link, which is read. On errors, returns an empty string and sets errno.
std::string link_text(int folder, const char* name);

// Returns the first line of a file without its newline, or an empty string if the file can not be read.
std::string first_line(const std::string& path);

// Writes all of `text`. If the reader has closed the pipe (EPIPE), returns an Error without a message.
Status write_all(int fd, std::string_view text, const std::string& name);
Status write_all(int fd, std::span<const unsigned char> bytes, const std::string& name);

// Writes `text` to `path` through OutputFile, so that a failure keeps the old file. "-" is standard output.
Status write_output(const std::string& path, std::string_view text);

// Like write_output(path, text), but `write` produces the text piece by piece.
Status write_output(const std::string& path, const std::function<void(TextStream&)>& write);

struct WrittenFile {
  std::string place;  // path of the file
  uint64_t bytes = 0;
  bool regular = false;
};

// Writes a new file, and keeps an existing one as NAME.old.
Result<WrittenFile> write_with_backup(const std::string& path, const std::function<void(TextStream&)>& write);

// While an object exists, exceeding the file size limit (ulimit -f) makes write() fail instead of killing the process.
class FileLimitAsError {
 public:
  FileLimitAsError();
  ~FileLimitAsError();
  FileLimitAsError(const FileLimitAsError&) = delete;
  FileLimitAsError& operator=(const FileLimitAsError&) = delete;

 private:
  void (*before_)(int);
};

// Closes a written file. Some file systems report a failed write only now.
Status close_written(UniqueFd fd, const std::string& name);

}  // namespace gpuprof
