#include "cmd/annotate/source_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/files/file.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20U;  // limit per file
constexpr size_t kMostBytesInAll = size_t{256} << 20U;
constexpr uid_t kNobody = 65534;

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

symbolize::FileAccess access_of(std::span<const FileId> inputs) {
  symbolize::FileAccess access;
  if (::geteuid() != 0) {
    return access;  // the kernel checks the rights, because gpuprof is not root
  }
  for (const FileId& input : inputs) {
    const uid_t owner = input.owner == 0 && input.others_write ? kNobody : input.owner;
    if (owner != 0) {
      access.rights = rights_of_user(owner);
    }
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
  const UniqueFd fd = symbolize::open_regular(access_, path);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return {{},
            access_.rights ? "the file is missing, or the owner of the profile cannot read it"
                           : "the file is missing or unreadable"};
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
