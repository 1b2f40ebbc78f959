#include "record/session/meta/source_commit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/files/file.h"
#include "base/unique_fd.h"

namespace gpuprof::record {
namespace {

constexpr size_t kMostFolders = 64;
// Limit on the size of a file that is read; packed-refs can be large.
constexpr size_t kMostOfFile = size_t{16} << 20U;
constexpr std::array<size_t, 2> kDigits = {40U, 64U};  // lengths of SHA-1 and SHA-256 in hexadecimal

bool is_commit(std::string_view text) {
  return (text.size() == kDigits[0] || text.size() == kDigits[1]) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Returns the text of a regular file, without blocking. Empty if the file is missing or cannot be read completely.
std::string git_text_of(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return {};
  }
  BoundedText read = read_bounded(fd.get(), kMostOfFile);
  return read.end == BoundedText::End::whole ? std::move(read.text) : std::string();
}

std::string first_line_of(const std::string& path) {
  const std::string text = git_text_of(path);
  return text.substr(0, text.find('\n'));
}

// A work tree that `git worktree` made has a file .git instead of a folder. The file contains "gitdir: PATH".
std::string git_folder(const std::string& folder) {
  std::string git = folder + "/.git";
  if (is_folder(git)) {
    return git;
  }
  constexpr std::string_view kLink = "gitdir: ";
  const std::string line = first_line_of(git);
  if (!line.starts_with(kLink)) {
    return {};
  }
  const std::string target = line.substr(kLink.size());
  return target.starts_with("/") ? target : folder + "/" + target;
}

std::string packed(const std::string& text, const std::string& reference) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    const size_t blank = line.find(' ');
    if (blank != std::string_view::npos && line.substr(blank + 1) == reference && is_commit(line.substr(0, blank))) {
      return std::string(line.substr(0, blank));
    }
    at = end + 1;
  }
  return {};
}

std::string checked_out(const std::string& git) {
  constexpr std::string_view kReference = "ref: ";
  std::string head = first_line_of(git + "/HEAD");
  if (!head.starts_with(kReference)) {
    return is_commit(head) ? head : std::string();
  }
  const std::string reference = head.substr(kReference.size());
  const std::string common = first_line_of(git + "/commondir");  // exists only for a work tree
  const std::string shared = common.empty() ? git : common.starts_with("/") ? common : git + "/" + common;
  for (const std::string& folder : {git, shared}) {
    if (std::string commit = first_line_of(folder + "/" + reference); is_commit(commit)) {
      return commit;
    }
  }
  return packed(git_text_of(shared + "/packed-refs"), reference);
}

}  // namespace

std::string source_commit(const std::string& given, const Variable& environment, const std::string& folder) {
  if (!given.empty()) {
    return given == kNoCommit ? std::string() : given;
  }
  for (const char* name : {"GITHUB_SHA", "CI_COMMIT_SHA"}) {
    if (std::string value = environment(name); !value.empty()) {
      return value;
    }
  }
  std::string place = folder;
  for (size_t steps = 0; steps < kMostFolders && !place.empty(); ++steps) {
    if (const std::string git = git_folder(place); !git.empty()) {
      return checked_out(git);
    }
    place.resize(place.rfind('/') == std::string::npos ? 0 : place.rfind('/'));
  }
  return {};
}

}  // namespace gpuprof::record
