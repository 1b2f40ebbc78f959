#include "cmd/common/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/exit_status.h"
#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "base/text/shell.h"
#include "output/text.h"
#include "profile/reader.h"

namespace gpuprof::cmd {
namespace {

using output::shown_name;

bool is_one_of(const struct stat& info, std::span<const FileId> files) {
  return S_ISREG(info.st_mode) &&
         std::find(files.begin(), files.end(), FileId{info.st_dev, info.st_ino}) != files.end();
}

// Returns whether the file is a profile of any version, even an incomplete or compressed one. Opens only regular
// files, because a pipe may never end, and opening a device may have effects.
bool is_profile(const std::string& path) {
  UniqueFd fd = open_regular(AT_FDCWD, path);
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_size == 0) {
    return false;
  }
  constexpr std::string_view kBegin = "GPUPROF;";
  char begin[kBegin.size()];
  if (::pread(fd.get(), begin, sizeof begin, 0) == static_cast<ssize_t>(sizeof begin) &&
      std::string_view(begin, sizeof begin) == kBegin) {
    return true;
  }
  return profile::Reader::open(std::move(fd), path).ok();
}

Error refused(const std::string& path, const std::string& why) {
  return {"cannot write " + shown_name(path) + ": " + why, "name another file", kExitUsage};
}

}  // namespace

FileId FileId::of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? FileId{info.st_dev, info.st_ino} : FileId{};
}

Status may_write_profile(const std::string& path, std::span<const FileId> inputs) {
  struct stat info {};
  if (path == "-") {
    return ::fstat(STDOUT_FILENO, &info) == 0 && is_one_of(info, inputs)
               ? Status(refused("stdout", "it is also the input"))
               : Status();
  }
  if (::stat(path.c_str(), &info) != 0) {
    return {};
  }
  if (is_one_of(info, inputs)) {
    return refused(path, "it is also the input");
  }
  struct stat old {};
  if (S_ISREG(info.st_mode) && ::stat((path + ".old").c_str(), &old) == 0 && is_one_of(old, inputs)) {
    return refused(path, "the existing file would replace " + shown_name(path) + ".old, which is an input");
  }
  return {};
}

Status may_write(const std::string& path, std::span<const FileId> inputs) {
  if (Status may = may_write_profile(path, inputs); !may || path == "-") {
    return may;
  }
  if (is_profile(path)) {
    return refused(path, "it is a profile");
  }
  const std::string old = path + ".old";
  struct stat info {};
  const bool is_kept = ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  return is_kept && is_profile(old)
             ? Status(refused(path, "the existing file would replace " + shown_name(old) + ", which is a profile"))
             : Status();
}

bool are_same_output(const std::string& one, const std::string& other) {
  const auto parts = [](const std::string& path) {
    const size_t entry = path.rfind('/') + 1;  // 0 if the path has no slash
    return std::pair(entry == 0 ? std::string(".") : path.substr(0, entry), path.substr(entry));
  };
  const auto [folder, entry] = parts(one);
  const auto [other_folder, other_entry] = parts(other);
  struct stat info {};
  struct stat other_info {};
  return one == other || (entry == other_entry && ::stat(folder.c_str(), &info) == 0 &&
                          ::stat(other_folder.c_str(), &other_info) == 0 && info.st_dev == other_info.st_dev &&
                          info.st_ino == other_info.st_ino);
}

std::string report_command(const std::string& file) {
  if (file == "gpuprof.txt") {
    return "gpuprof report";
  }
  return "gpuprof report " + shown_name(shell_word(file.starts_with("-") ? "./" + file : file));
}

Status write_file(const std::string& path, std::string_view advice, const std::function<void(TextStream&)>& write) {
  if (path == "-") {
    return write_output(path, write);
  }
  const auto written = write_with_backup(path, write);
  RETURN_IF_ERROR(written);
  report_written(*written, advice);
  return {};
}

void report_written(const WrittenFile& written, std::string_view advice) {
  if (written.regular) {  // for pipes and devices, the user knows where the output goes
    log::info("wrote " + shown_name(written.place) + ", " + bytes_text(written.bytes) + (advice.empty() ? "" : ": ") +
              std::string(advice));
  }
}

}  // namespace gpuprof::cmd
