#include "base/files/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/files/output_file.h"
#include "base/files/safe_open.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"

namespace gpuprof {
namespace {

constexpr int kExitBrokenPipe = 141;  // 128 + SIGPIPE, which shells report for a process that this signal killed

Error errno_error(const std::string& what, int error, std::string hint = {}) {
  return Error{what + ": " + std::strerror(error), hints::of_error(error, std::move(hint))};
}

Status stream_to(int fd, const std::function<void(TextStream&)>& write, const std::string& name) {
  TextStream out([fd, &name](std::string_view piece) { return write_all(fd, piece, name); });
  write(out);
  return out.finish();
}

}  // namespace

Result<UniqueFd> open_input(const std::string& path) {
  constexpr const char* kHint = "name a profile that `gpuprof record` wrote";
  UniqueFd fd = path == "-" ? UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) : locate(AT_FDCWD, path);
  struct stat info {};
  if (fd && path != "-" && ::fstat(fd.get(), &info) == 0) {
    if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
      return S_ISDIR(info.st_mode) ? errno_error("cannot read " + path, EISDIR, kHint)
                                   : Error{"cannot read " + path + ": it is neither a file nor a pipe", kHint};
    }
    fd = reopen(fd.get(), O_RDONLY);
  }
  return fd ? Result<UniqueFd>(std::move(fd)) : errno_error("cannot open " + path, errno, kHint);
}

BoundedText read_bounded(int fd, size_t most) {
  constexpr size_t kPiece = 4096;
  BoundedText result;
  std::string& text = result.text;
  size_t used = 0;
  while (used <= most) {  // reads one byte more than `most`, to detect a longer input
    text.resize(std::min(most + 1, used + std::max(used, kPiece)));
    const ssize_t got = ::read(fd, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      result.end = BoundedText::End::failed;
      result.error = errno;
    }
    if (got <= 0) {
      break;
    }
    used += static_cast<size_t>(got);
  }
  if (used > most) {
    result.end = BoundedText::End::too_large;
  }
  text.resize(std::min(used, most));
  return result;
}

std::string read_text(int folder, const std::string& name, size_t most) {
  const UniqueFd fd = open_regular(folder, name);
  return fd ? read_bounded(fd.get(), most).text : std::string();
}

std::string read_text(const std::string& path, size_t most) {
  return read_text(AT_FDCWD, path, most);
}

std::string link_text(int folder, const char* name) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlinkat(folder, name, text.data(), text.size());
  if (length == static_cast<ssize_t>(text.size())) {
    errno = ENAMETOOLONG;
    return {};
  }
  return length > 0 ? std::string(text.data(), static_cast<size_t>(length)) : std::string();
}

std::string first_line(const std::string& path) {
  constexpr size_t kMost = 4096;
  const std::string text = read_text(path, kMost);
  return text.substr(0, text.find('\n'));
}

Status write_all(int fd, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno == EPIPE) {
        return Error{"", "", kExitBrokenPipe};
      }
      return errno_error("cannot write " + name, errno);
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status write_all(int fd, std::span<const unsigned char> bytes, const std::string& name) {
  return write_all(fd, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name);
}

Status write_output(const std::string& path, std::string_view text) {
  return write_output(path, [text](TextStream& out) { out.append(text); });
}

namespace {

Result<WrittenFile> write_file(const std::string& path, const OutputOptions& options,
                               const std::function<void(TextStream&)>& write) {
  const FileLimitAsError limit;
  auto file = OutputFile::open(path, options);
  RETURN_IF_ERROR(file);
  WrittenFile written{.place = {}, .bytes = 0, .regular = file->is_regular()};
  UniqueFd fd = file->take_fd();
  TextStream out([&](std::string_view piece) {
    written.bytes += piece.size();
    return write_all(fd.get(), piece, file->name());
  });
  write(out);
  Status done = out.finish();
  if (done) {
    done = close_written(std::move(fd), file->name());
  }
  RETURN_IF_ERROR(done);
  auto place = file->finish();
  RETURN_IF_ERROR(place);
  written.place = std::move(*place);
  return written;
}

}  // namespace

Status write_output(const std::string& path, const std::function<void(TextStream&)>& write) {
  if (path == "-") {
    const FileLimitAsError limit;
    return stream_to(STDOUT_FILENO, write, "standard output");
  }
  const auto written = write_file(path, {}, write);
  return written ? Status() : Status(written.error());
}

Result<WrittenFile> write_with_backup(const std::string& path, const std::function<void(TextStream&)>& write) {
  return write_file(path, {.keep_old = true, .mode = 0666, .stop = {}}, write);
}

FileLimitAsError::FileLimitAsError() : before_(::signal(SIGXFSZ, SIG_IGN)) {}

FileLimitAsError::~FileLimitAsError() {
  if (before_ != SIG_ERR) {
    ::signal(SIGXFSZ, before_);
  }
}

Status close_written(UniqueFd fd, const std::string& name) {
  return ::close(fd.release()) == 0 || errno == EINTR ? Status() : errno_error("cannot write " + name, errno);
}

}  // namespace gpuprof
