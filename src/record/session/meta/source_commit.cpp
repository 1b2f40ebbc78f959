#include "record/session/meta/source_commit.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/files/ambient_folder.h"

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

std::string first_line_of(const AmbientFolder& folder, std::string_view name) {
  const std::string text = folder.read(name, kMostOfFile);
  return text.substr(0, text.find('\n'));
}

// A work tree that `git worktree` made has a file .git instead of a folder. The file contains "gitdir: PATH".
std::optional<AmbientFolder> git_folder(const AmbientFolder& folder) {
  if (auto git = folder.enter(".git"); git) {
    return git;
  }
  constexpr std::string_view kLink = "gitdir: ";
  const std::string line = first_line_of(folder, ".git");
  return line.starts_with(kLink) ? folder.enter(line.substr(kLink.size())) : std::nullopt;
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

bool is_reference(std::string_view name) {
  return name.starts_with("refs/") && name.find("..") == std::string_view::npos;
}

std::string checked_out(const AmbientFolder& git) {
  constexpr std::string_view kReference = "ref: ";
  std::string head = first_line_of(git, "HEAD");
  if (!head.starts_with(kReference)) {
    return is_commit(head) ? head : std::string();
  }
  const std::string reference = head.substr(kReference.size());
  const std::string common = first_line_of(git, "commondir");  // exists only for a work tree
  const auto shared = git.enter(common);
  if (!is_reference(reference) || !shared) {
    return {};
  }
  for (const AmbientFolder* folder : {&git, &*shared}) {
    if (std::string commit = first_line_of(*folder, reference); is_commit(commit)) {
      return commit;
    }
  }
  return packed(shared->read("packed-refs", kMostOfFile), reference);
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
    const auto here = AmbientFolder::open(place);
    // A repository further up is not that of the program if a nearer one cannot be read.
    if (!here || here->has(".git")) {
      const auto git = here ? git_folder(*here) : std::nullopt;
      return git ? checked_out(*git) : std::string();
    }
    place.resize(place.rfind('/') == std::string::npos ? 0 : place.rfind('/'));
  }
  return {};
}

}  // namespace gpuprof::record
