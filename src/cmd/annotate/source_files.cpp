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

constexpr size_t kMostBytes = size_t{16} << 20U;        // limit per file
constexpr uint64_t kMostMemory = uint64_t{256} << 20U;  // limit of all files and the places of their lines
constexpr uid_t kNobody = 65534;

// Endings of source files in the languages of CPU and GPU programs, in lower case.
constexpr std::array<std::string_view, 68> kEndings{
    "ada", "adb", "asm",   "c",     "c++",  "cc",  "cl",  "clcpp", "cpp", "cppm", "cs",  "cu",   "cuf", "cuh",
    "cxx", "d",   "def",   "f",     "f03",  "f08", "f77", "f90",   "f95", "for",  "fpp", "go",   "h",   "h++",
    "hh",  "hip", "hpp",   "hs",    "hxx",  "i",   "ii",  "in",    "inc", "inl",  "ipp", "ispc", "ixx", "java",
    "jl",  "kt",  "m",     "metal", "ml",   "mm",  "mpp", "nim",   "pas", "pxd",  "py",  "pyi",  "pyw", "pyx",
    "rs",  "s",   "scala", "swift", "sycl", "tcc", "tpl", "tpp",   "txx", "v",    "y",   "zig"};

// Returns whether root shows a file of this path: by its ending or, for C++ headers without one, by a folder "include",
// and not below folders that have no source files.
bool may_be_source(std::string_view path) {
  constexpr std::array<std::string_view, 4> kNotFiles{"/dev/", "/proc/", "/run/", "/sys/"};
  const auto holds = [&](std::string_view folder) { return path.starts_with(folder); };
  if (std::any_of(kNotFiles.begin(), kNotFiles.end(), holds) && !path.starts_with("/dev/shm/")) {
    return false;
  }
  const std::string_view name = base_name(path);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) {
    return path.starts_with("include/") || path.find("/include/") != std::string_view::npos;
  }
  std::string ending(name.substr(dot + 1));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

output::SourceText unreadable(const char* why) {
  return {.text = {}, .ends = {}, .why_not = why};
}

}  // namespace

FileAccess source_access(bool own_rights) {
  FileAccess access;
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

const char* SourceFiles::why_unreadable(int error) const {
  switch (error) {
    case 0:
      return "it is not a regular file";
    case ENOENT:
    case ENOTDIR:
      return "the file is missing";
    case EACCES:
      return access_.rights ? "not all users may read it (see --own-rights)" : "the file is unreadable";
    default:
      return "the file is unreadable";
  }
}

output::SourceText SourceFiles::read(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  // A profile or a recorded program must not choose what root prints.
  const bool is_root = ::geteuid() == 0;
  if (is_root && !may_be_source(path)) {
    return unreadable("root shows only source files, and its name or folder is not that of one");
  }
  if (!ActAs(access_.rights_or_null()).ok()) {
    return unreadable("gpuprof cannot act as the user nobody here (see --own-rights)");
  }
  errno = 0;
  const UniqueFd fd = open_regular(access_, path);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return unreadable(why_unreadable(errno));
  }
  const std::string real = real_path(fd.get());
  if (is_root && !may_be_source(real)) {
    return unreadable(real.empty()
                          ? "it was replaced while it was opened"
                          : "root shows only source files, and its path leads to a file that has no name of one");
  }
  if (!started_) {
    return unreadable("the profile does not say when it was recorded");
  }
  constexpr uint64_t kNsInSecond = 1'000'000'000;
  const auto changed = static_cast<uint64_t>(std::max<time_t>(status.st_mtim.tv_sec, 0)) * kNsInSecond +
                       static_cast<uint64_t>(status.st_mtim.tv_nsec);
  if (changed >= *started_) {
    return unreadable("it was changed after the recording");
  }
  BoundedText text = read_bounded(fd.get(), kMostBytes);
  auto source = output::SourceText::of(std::move(text.text));
  if (text.end != BoundedText::End::whole || source.memory() > kMostMemory - memory_) {
    return unreadable("it is too large, or cannot be read");
  }
  memory_ += source.memory();
  return source;
}

}  // namespace gpuprof::cmd
