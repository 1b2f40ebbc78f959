#include "cmd/annotate/source_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files/file.h"
#include "base/files/open_folder.h"
#include "base/files/path.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20U;  // limit per file
constexpr size_t kMostBytesInAll = size_t{256} << 20U;
constexpr uid_t kNobody = 65534;

// Endings of source files in the languages of CPU and GPU programs.
constexpr std::array<std::string_view, 52> kEndings{
    "C",   "F",   "F90", "S",   "asm", "c",   "c++", "cc",    "cl",   "clcpp", "cpp", "cu",  "cuh",
    "cuf", "cxx", "def", "f",   "f03", "f08", "f77", "f90",   "f95",  "for",   "go",  "h",   "h++",
    "hh",  "hip", "hpp", "hxx", "i",   "inc", "inl", "ipp",   "ixx",  "java",  "jl",  "m",   "mm",
    "nim", "pxd", "py",  "pyi", "pyx", "rs",  "s",   "swift", "sycl", "tcc",   "tpp", "txx", "zig"};

// Returns whether source files may have this path: by its ending or, for C++ headers without one, by a folder
// "include", and not below /dev, /proc, /run or /sys.
bool may_be_source(std::string_view path) {
  constexpr std::array<std::string_view, 4> kNotFiles{"/dev/", "/proc/", "/run/", "/sys/"};
  const auto holds = [&](std::string_view folder) { return path.starts_with(folder); };
  if (std::any_of(kNotFiles.begin(), kNotFiles.end(), holds)) {
    return false;
  }
  const std::string_view name = base_name(path);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) {
    return path.find("/include/") != std::string_view::npos;
  }
  return std::find(kEndings.begin(), kEndings.end(), name.substr(dot + 1)) != kEndings.end();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (!lines.back().empty() && lines.back().back() == '\r') {
      lines.back().pop_back();
    }
    at = end + 1;
  }
  return lines;
}

}  // namespace

symbolize::FileAccess source_access(bool own_rights) {
  symbolize::FileAccess access;
  if (::geteuid() == 0 && !own_rights) {
    access.rights = FileRights{.uid = kNobody, .gid = kNobody};
  }
  return access;
}

const output::SourceText& SourceFiles::find(std::string_view path) {
  const auto [known, is_new] = known_.try_emplace(std::string(path));
  if (is_new) {
    known->second = read(known->first);
  }
  return known->second;
}

output::SourceText SourceFiles::read(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  if (!may_be_source(path)) {
    return {{}, "its name is not that of a source file"};
  }
  errno = 0;
  const UniqueFd fd = symbolize::open_regular(access_, path);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return {{},
            errno == 0                          ? "it is not a regular file"
            : errno == ENOENT                   ? "the file is missing"
            : access_.rights && errno == EACCES ? "not all users may read it (see --own-rights)"
                                                : "the file is unreadable"};
  }
  if (const std::string real = real_path(fd.get()); !may_be_source(real)) {
    return {{}, "its path leads to a file whose name is not that of a source file"};
  }
  if (!started_) {
    return {{}, "the profile does not say when it was recorded"};
  }
  constexpr uint64_t kNsInSecond = 1'000'000'000;
  const auto changed = static_cast<uint64_t>(std::max<time_t>(status.st_mtim.tv_sec, 0)) * kNsInSecond +
                       static_cast<uint64_t>(status.st_mtim.tv_nsec);
  if (changed >= *started_) {
    return {{}, "it was changed after the recording"};
  }
  const BoundedText text = read_bounded(fd.get(), kMostBytes);
  if (text.end != BoundedText::End::whole || text.text.size() > kMostBytesInAll - bytes_) {
    return {{}, "it is too large, or cannot be read"};
  }
  bytes_ += text.text.size();
  return {lines_of(text.text), {}};
}

}  // namespace gpuprof::cmd
