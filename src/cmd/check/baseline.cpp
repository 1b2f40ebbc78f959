#include "cmd/check/baseline.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/open_folder.h"
#include "base/files/own_folder.h"
#include "base/files/safe_open.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/return_if_error.h"

namespace gpuprof::cmd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoCommit = "_unknown";  // stands for an unknown commit; names of known commits have no '_'
constexpr size_t kMostNameBytes = 100;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr mode_t kProfileMode = 0644;

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
}

// Makes a readable folder name from a text. It ends with a hash, so that similar texts have different names.
std::string folded_name(std::string_view text) {
  std::string name = text.starts_with(".") ? "_" : "";
  for (const char c : text.substr(0, kMostNameBytes)) {
    name += is_plain(c) ? c : '_';
  }
  uint64_t hash = 0;
  for (const char c : text) {
    hash = gpuprof_mix_hash(hash, static_cast<unsigned char>(c));
  }
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "-%08x", static_cast<unsigned>(hash >> 32U));
  return name + digits.data();
}

std::string machine_name(const compare::RunFacts& facts) {
  std::string text;
  for (const std::string& device : facts.devices) {
    text += device + " ";
  }
  return folded_name(text + facts.driver);
}

// Returns a folder name for the commit. This is the commit itself if a folder can have that name, else its
// folded_name(), which is not the name of any other commit.
std::string commit_name(const std::string& commit) {
  const bool is_name = commit.size() <= kMostNameBytes && !commit.starts_with(".") &&
                       std::all_of(commit.begin(), commit.end(), is_plain);
  return commit.empty() ? kNoCommit : is_name ? commit : folded_name(commit);
}

// Returns the time as a text without '-'. Such texts sort by time. Nanoseconds distinguish two jobs in the same
// second.
std::string utc_now() {
  const uint64_t now = clock_ns(CLOCK_REALTIME);
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), ".%09uZ", static_cast<unsigned>(now % kSecond));
  return utc_text(static_cast<time_t>(now / kSecond), "%Y%m%dT%H%M%S") + digits.data();
}

Result<std::vector<RunFile>> profiles_in(OwnFolder opened) {
  const auto folder = std::make_shared<const OwnFolder>(std::move(opened));
  const auto names = folder->names();
  RETURN_IF_ERROR(names);
  std::vector<RunFile> files;
  for (const std::string& name : *names) {
    if (name.starts_with("run-")) {
      files.push_back({folder->path_of(name), folder});
    }
  }
  return files;
}

Error cannot_keep(const std::string& where, const std::error_code& error) {
  return {"cannot keep profiles in " + where + ": " + error.message(), "name another folder: --baseline FOLDER",
          kExitUsage};
}

Status copy_profile(const RunFile& from, const OwnFolder& folder, const std::string& name) {
  auto fd = from.open();
  RETURN_IF_ERROR(fd);
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error{"cannot keep " + from.path + ": it is not a regular file, and was already read",
                 "write the profile to a file, and name that file"};
  }
  if (FileId::of(fd->get()) != from.id) {
    return Error{"cannot keep " + from.path + ": another file has replaced it since it was read",
                 "copy the profiles into a folder that nobody else may change"};
  }
  const std::string shown = folder.path_of(name);
  const UniqueFd to = create_file(folder.fd().get(), name, kProfileMode);
  if (!to) {
    return cannot_keep(shown, {errno, std::generic_category()});
  }
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
    if (got < 0 && errno != EINTR) {
      return Error{"cannot read " + from.path + ": " + std::strerror(errno), ""};
    }
    if (got == 0) {
      return {};
    }
    RETURN_IF_ERROR(write_all(to.get(), {piece.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))}, shown));
  }
}

}  // namespace

Result<std::optional<BaselineRuns>> Baseline::newest(const compare::RunFacts& like) const {
  if (::access(folder_.c_str(), F_OK) != 0 && errno == ENOENT) {
    return std::optional<BaselineRuns>();
  }
  const auto all = OwnFolder::open(folder_);
  RETURN_IF_ERROR(all);
  const std::string own = commit_name(like.commit);
  const std::string machine_folder = machine_name(like);
  if (!all->has(machine_folder)) {
    return std::optional<BaselineRuns>();
  }
  const auto machine = all->enter(machine_folder);
  RETURN_IF_ERROR(machine);
  const auto kept = machine->names();
  RETURN_IF_ERROR(kept);
  for (auto entry = kept->rbegin(); entry != kept->rend(); ++entry) {
    const std::string& name = *entry;
    const size_t hyphen = name.find('-');
    if (name.starts_with(".") || hyphen == std::string::npos) {
      continue;
    }
    const std::string commit = name.substr(hyphen + 1);
    if (!like.commit.empty() && commit == own) {
      continue;
    }
    auto folder = machine->enter(name);
    RETURN_IF_ERROR(folder);
    const std::string path = folder->path();
    auto files = profiles_in(std::move(*folder));
    RETURN_IF_ERROR(files);
    if (!files->empty()) {
      return std::optional(BaselineRuns{path, commit == kNoCommit ? "" : commit, std::move(*files)});
    }
  }
  return std::optional<BaselineRuns>();
}

Status Baseline::can_save() const {
  std::error_code error;
  fs::path there = fs::absolute(folder_, error);
  while (!fs::exists(there, error) && there != there.parent_path()) {
    there = there.parent_path();
  }
  if (fs::exists(there, error) && !fs::is_directory(there, error)) {
    return cannot_keep(folder_, std::make_error_code(std::errc::not_a_directory));
  }
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    return cannot_keep(folder_, {errno, std::generic_category()});
  }
  if (fs::exists(folder_, error)) {
    const auto folder = OwnFolder::open(folder_);
    return folder ? Status() : Status(folder.error());
  }
  const auto folder = open_folder(there);
  return folder ? Status() : Status(folder.error());
}

Result<std::string> Baseline::keep(const compare::RunFacts& like, const std::vector<RunFile>& files) const {
  const std::string whole = utc_now() + "-" + commit_name(like.commit);
  const std::string part = "." + whole + "-" + std::to_string(::getpid());
  const auto all = OwnFolder::open(folder_, IfMissing::make_with_parents);
  RETURN_IF_ERROR(all);
  const auto machine = all->enter(machine_name(like), IfMissing::make);
  RETURN_IF_ERROR(machine);
  const auto folder = machine->enter(part, IfMissing::make);
  RETURN_IF_ERROR(folder);
  const FileLimitAsError limit;
  Status done;
  for (size_t i = 0; i < files.size() && done; ++i) {
    done = copy_profile(files[i], *folder, "run-" + std::to_string(i + 1) + ".txt");
  }
  done = done ? machine->move_entry(part, whole) : std::move(done);
  if (!done) {
    machine->remove(part);
    return std::move(done).error();
  }
  return machine->path_of(whole);
}

}  // namespace gpuprof::cmd
