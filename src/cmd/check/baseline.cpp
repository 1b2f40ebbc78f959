#include "cmd/check/baseline.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/log.h"

namespace gpuprof::cmd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoCommit = "unknown";
constexpr size_t kMostNameBytes = 100;

// A name for a folder: what is no letter, digit, dot or hyphen becomes '_'.
std::string folder_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kMostNameBytes)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    name += plain ? c : '_';
  }
  return name.starts_with(".") ? "_" + name : name;
}

// Readable, and another one for each device and driver however alike their names are.
std::string machine_name(const compare::RunFacts& facts) {
  std::string text;
  for (const std::string& device : facts.devices) {
    text += device + " ";
  }
  text += facts.driver;
  uint64_t hash = 0;
  for (const char c : text) {
    hash = gpuprof_mix_hash(hash, static_cast<unsigned char>(c));
  }
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "-%08x", static_cast<unsigned>(hash >> 32U));
  return folder_name(text) + digits.data();
}

std::string commit_name(const compare::RunFacts& facts) {
  return facts.commit.empty() ? kNoCommit : folder_name(facts.commit);
}

std::string utc_now() {
  return utc_text(::time(nullptr), "%Y%m%dT%H%M%SZ");
}

// Sorted; empty where the folder cannot be read.
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
  if (!fd) {
    return std::move(fd).error();
  }
  return write_output(to, [&](TextStream& out) {
    std::array<char, 65536> piece{};
    for (ssize_t got = 0; (got = ::read(fd->get(), piece.data(), piece.size())) > 0 && !out.failed();) {
      out.append({piece.data(), static_cast<size_t>(got)});
    }
  });
}

}  // namespace

Result<std::optional<KeptRuns>> Baseline::newest(const compare::RunFacts& like) const {
  std::error_code error;
  if (fs::exists(folder_, error) && !fs::is_directory(folder_, error)) {
    return Error{folder_ + " is not a folder", "--baseline names the folder in which profiles are kept", kExitUsage};
  }
  const std::string own = "-" + commit_name(like);
  std::vector<fs::path> kept = entries_of(fs::path(folder_) / machine_name(like));
  for (auto path = kept.rbegin(); path != kept.rend(); ++path) {
    const std::string name = path->filename().string();
    const size_t hyphen = name.find('-');
    if (name.starts_with(".") || hyphen == std::string::npos || (!like.commit.empty() && name.ends_with(own))) {
      continue;
    }
    if (auto files = profiles_in(*path); !files.empty()) {
      return std::optional(KeptRuns{path->string(), name.substr(hyphen + 1), std::move(files)});
    }
  }
  return std::optional<KeptRuns>();
}

Result<std::string> Baseline::keep(const compare::RunFacts& like, const std::vector<std::string>& files) const {
  const fs::path machine = fs::path(folder_) / machine_name(like);
  const fs::path whole = machine / (utc_now() + "-" + commit_name(like));
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
