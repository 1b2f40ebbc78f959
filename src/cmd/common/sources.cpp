#include "cmd/common/sources.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/files/file.h"
#include "base/files/open_folder.h"
#include "base/files/packed_input.h"
#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/utf8.h"
#include "base/unique_fd.h"
#include "cmd/command.h"
#include "cmd/common/input.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostNamed = 3;
constexpr std::string_view kBegin = "GPUPROF;";

// A file to read. gpuprof itself has found the file if `folder` is set, which is then the folder that contains it.
struct Source {
  std::string path;
  std::shared_ptr<const UniqueFd> folder = {};
  std::string name = {};  // of a file that gpuprof has found: its path from `folder`

  [[nodiscard]] Result<profile::Reader> open(bool lenient, std::vector<FileId>& files) const {
    if (folder == nullptr) {
      return open_profile(path, lenient, files);
    }
    auto fd = open_found(folder->get(), name, path);
    RETURN_IF_ERROR(fd);
    return open_profile(std::move(fd).value(), path, lenient, files);
  }

  // Returns false for standard input, and for files that cannot be opened.
  bool status(struct stat& info) const {
    if (folder == nullptr) {
      return path != "-" && ::stat(path.c_str(), &info) == 0;
    }
    const auto place = open_place(folder->get(), name);
    return place && ::fstat(place->get(), &info) == 0;
  }
};

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool source_exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

enum class Kind { profile, foreign, folder };

// Returns whether a compressed file begins like a profile. `begun` is what was read from `fd`. A damaged file counts as
// a profile, so that the command fails and does not ignore it.
bool is_packed_profile(int fd, std::string_view begun) {
  PackedInput packed(begun);
  std::array<char, kBegin.size()> begin{};
  size_t size = 0;
  while (size < begin.size()) {
    const auto got = packed.read(fd, begin.data() + size, begin.size() - size);
    if (!got) {
      return true;
    }
    if (*got == 0) {
      break;
    }
    size += *got;
  }
  return std::string_view(begin.data(), size) == kBegin;
}

// Finds out the kind of a file from its first bytes. Opens only regular files, because reading from a pipe could block,
// and opening a device may have effects.
Kind kind_of(int folder, const std::string& name) {
  const auto place = open_place(folder, name);
  struct stat info {};
  if (place && ::fstat(place->get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return Kind::folder;
  }
  const UniqueFd fd = place ? reopen_regular(*place) : UniqueFd();
  if (!fd) {
    return Kind::foreign;
  }
  std::array<char, kBegin.size()> begin{};
  const ssize_t got = ::read(fd.get(), begin.data(), begin.size());
  const std::string_view text(begin.data(), got > 0 ? static_cast<size_t>(got) : 0);
  return text == kBegin || (PackedInput::knows(text) && is_packed_profile(fd.get(), text)) ? Kind::profile
                                                                                           : Kind::foreign;
}

void tell_skipped(const std::string& path, const std::vector<std::string>& skipped) {
  if (skipped.empty()) {
    return;
  }
  std::string names;
  for (size_t i = 0; i < std::min(skipped.size(), kMostNamed); ++i) {
    names += (i == 0 ? "" : ", ") + escaped(skipped[i]);
  }
  if (skipped.size() > kMostNamed) {
    names += " and " + std::to_string(skipped.size() - kMostNamed) + " more";
  }
  log::warn(escaped(path) + ": ignoring files that are not profiles: " + names);
}

Error usage_error(Error error) {
  error.exit_code = kExitUsage;
  return error;
}

Result<std::vector<Source>> files_in(const std::string& path) {
  auto opened = open_folder(path);
  if (!opened) {
    return usage_error(std::move(opened).error());
  }
  const auto folder = std::make_shared<const UniqueFd>(std::move(opened).value());
  const auto names = names_in(folder->get(), path);
  if (!names) {
    return usage_error(names.error());
  }
  std::vector<Source> found;
  std::vector<std::string> skipped;
  for (const std::string& name : *names) {
    if (name.starts_with(".") || name.ends_with(".old")) {
      continue;
    }
    const Kind kind = kind_of(folder->get(), name);
    if (kind == Kind::profile) {
      found.push_back({path + (path.ends_with("/") ? "" : "/") + name, folder, name});
    } else if (kind == Kind::foreign) {
      skipped.push_back(name);
    }
  }
  tell_skipped(path, skipped);
  if (found.empty()) {
    return Error{"no profile in the folder " + escaped(path),
                 "`gpuprof record -o FILE` writes one; subfolders are not searched", kExitUsage};
  }
  return found;
}

Result<std::vector<Source>> files_like(const std::string& pattern) {
  glob_t matches{};
  const int failed = ::glob(pattern.c_str(), 0, nullptr, &matches);
  const auto here = std::make_shared<const UniqueFd>(locate(AT_FDCWD, ".", O_DIRECTORY));
  std::vector<Source> found;
  for (size_t i = 0; failed == 0 && i < matches.gl_pathc; ++i) {
    if (!is_folder(matches.gl_pathv[i])) {
      found.push_back({matches.gl_pathv[i], here, matches.gl_pathv[i]});
    }
  }
  ::globfree(&matches);
  if (found.empty()) {
    return Error{"no file matches " + escaped(pattern), "give one or more profiles, or a folder of profiles",
                 kExitUsage};
  }
  return found;
}

Result<std::vector<Source>> expand_sources(const std::vector<std::string>& words) {
  std::vector<Source> files;
  std::set<std::pair<dev_t, ino_t>> known;
  const auto is_new = [&known](const Source& file) {
    struct stat info {};
    return !file.status(info) || known.emplace(info.st_dev, info.st_ino).second;
  };
  for (const std::string& word : words) {
    const bool folder = word != "-" && is_folder(word);
    const bool pattern = !folder && word.find_first_of("*?[") != std::string::npos && !source_exists(word);
    if (!folder && !pattern) {
      if (is_new({word})) {
        files.push_back({word});
      } else {
        log::warn(escaped(word) + " is named more than once: it is read once");
      }
      continue;
    }
    auto found = folder ? files_in(word) : files_like(word);
    RETURN_IF_ERROR(found);
    std::copy_if(found->begin(), found->end(), std::back_inserter(files), is_new);
  }
  return files;
}

analyze::MergeInput input_from(const Source& source, bool lenient, profile::Reader reader) {
  analyze::MergeInput input{.name = input_name(source.path), .bytes = 0, .reopen = {}};
  struct stat info {};
  if (source.status(info) && S_ISREG(info.st_mode)) {
    input.bytes = static_cast<uint64_t>(info.st_size);
    input.reopen = [source, lenient] {
      std::vector<FileId> known;
      return source.open(lenient, known);
    };
  } else {
    input.reader = std::move(reader);
  }
  return input;
}

}  // namespace

analyze::MergeInput input_of(const std::string& path, bool lenient, profile::Reader reader) {
  return input_from({path}, lenient, std::move(reader));
}

Result<std::vector<analyze::MergeInput>> open_sources(const std::vector<std::string>& words, bool lenient,
                                                      std::vector<FileId>& files) {
  if (std::count(words.begin(), words.end(), "-") > 1) {
    return Error{"standard input is named more than once", "write one of the profiles to a file", kExitUsage};
  }
  const auto sources = expand_sources(words);
  RETURN_IF_ERROR(sources);
  std::vector<analyze::MergeInput> inputs;
  for (const Source& source : *sources) {
    auto reader = source.open(lenient, files);
    RETURN_IF_ERROR(reader);
    inputs.push_back(input_from(source, lenient, std::move(reader).value()));
  }
  return inputs;
}

}  // namespace gpuprof::cmd
