#include "cmd/check/baseline.h"

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
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/return_if_error.h"

namespace gpuprof::cmd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoCommit = "_unknown";  // stands for an unknown commit; names of known commits have no '_'
constexpr size_t kMostNameBytes = 100;
constexpr uint64_t kSecond = 1'000'000'000;

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

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    paths.push_back(entry->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> profiles_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::path& path : entries_of(folder)) {
    if (path.filename().string().starts_with("run-")) {
      files.push_back(path.string());
    }
  }
  return files;
}

Error cannot_keep(const std::string& where, const std::error_code& error) {
  return {"cannot keep profiles in " + where + ": " + error.message(), "name another folder: --baseline FOLDER",
          kExitUsage};
}

Status copy_profile(const std::string& from, const std::string& to) {
  auto fd = open_input(from);
  RETURN_IF_ERROR(fd);
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error{"cannot keep " + from + ": it is not a regular file, and was already read",
                 "write the profile to a file, and name that file"};
  }
  int error = 0;
  Status written = write_output(to, [&](TextStream& out) {
    std::array<char, 65536> piece{};
    for (ssize_t got = 1; got != 0 && error == 0 && !out.failed();) {
      got = ::read(fd->get(), piece.data(), piece.size());
      error = got < 0 && errno != EINTR ? errno : 0;
      out.append({piece.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))});
    }
  });
  return written && error != 0 ? Status(Error{"cannot read " + from + ": " + std::strerror(error), ""})
                               : std::move(written);
}

}  // namespace

Result<std::optional<BaselineRuns>> Baseline::newest(const compare::RunFacts& like) const {
  std::error_code error;
  if (fs::exists(folder_, error) && !fs::is_directory(folder_, error)) {
    return Error{folder_ + " is not a folder", "--baseline names the folder in which profiles are kept", kExitUsage};
  }
  const std::string own = commit_name(like.commit);
  std::vector<fs::path> kept = entries_of(fs::path(folder_) / machine_name(like));
  for (auto path = kept.rbegin(); path != kept.rend(); ++path) {
    const std::string name = path->filename().string();
    const size_t hyphen = name.find('-');
    if (name.starts_with(".") || hyphen == std::string::npos) {
      continue;
    }
    const std::string commit = name.substr(hyphen + 1);
    if (!like.commit.empty() && commit == own) {
      continue;
    }
    if (auto files = profiles_in(*path); !files.empty()) {
      return std::optional(BaselineRuns{path->string(), commit == kNoCommit ? "" : commit, std::move(files)});
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
  return ::access(there.c_str(), W_OK | X_OK) == 0 ? Status() : cannot_keep(folder_, {errno, std::generic_category()});
}

Result<std::string> Baseline::keep(const compare::RunFacts& like, const std::vector<std::string>& files) const {
  const fs::path machine = fs::path(folder_) / machine_name(like);
  const fs::path whole = machine / (utc_now() + "-" + commit_name(like.commit));
  const fs::path part = machine / ("." + whole.filename().string() + "-" + std::to_string(::getpid()));
  std::error_code error;
  fs::create_directories(part, error);
  if (error) {
    return cannot_keep(part.string(), error);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (Status copied = copy_profile(files[i], (part / ("run-" + std::to_string(i + 1) + ".txt")).string()); !copied) {
      Error failed = std::move(copied).error();
      fs::remove_all(part, error);
      failed.exit_code = kExitUsage;
      return failed;
    }
  }
  fs::rename(part, whole, error);
  if (error) {
    const Error failed = cannot_keep(whole.string(), error);
    fs::remove_all(part, error);
    return failed;
  }
  return whole.string();
}

}  // namespace gpuprof::cmd
