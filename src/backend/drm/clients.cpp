#include "backend/drm/clients.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/process/children.h"
#include "base/process/process_status.h"
#include "base/text/numbers.h"

namespace gpuprof::backend::drm {
namespace {

constexpr size_t kMaxFdInfo = 8192;  // bytes; the fdinfo of a DRM file usually has a few hundred
constexpr size_t kMaxProcesses = 65536;
constexpr int kMaxGenerations = 32;  // number of parents to check, as in bpf/jobs/submitter.h

// Calls `take` for the entries of a folder that are named by numbers, until it returns false or was called `most`
// times.
void for_each_number(const std::string& folder, size_t most, const std::function<bool(uint32_t)>& take) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator() && most > 0; entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (const auto number = whole_number<uint32_t>(name)) {
      --most;
      if (!take(*number)) {
        return;
      }
    }
  }
}

// Checks only the path of the open file, because opening the file again may block. Other files in /dev/dri/ do no
// harm, because their fdinfo names no client.
bool is_card(const std::string& link) {
  constexpr std::string_view kCards = "/dev/dri/";
  std::array<char, kCards.size()> target{};
  const ssize_t bytes = ::readlink(link.c_str(), target.data(), target.size());
  return bytes == ssize_t{kCards.size()} && std::string_view(target.data(), target.size()) == kCards;
}

}  // namespace

std::optional<uint64_t> client_of(std::string_view fdinfo) {
  constexpr std::string_view kKey = "\ndrm-client-id:\t";
  const size_t found = fdinfo.find(kKey);
  const size_t end = found == std::string_view::npos ? found : fdinfo.find('\n', found + kKey.size());
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  uint64_t client = 0;
  const auto parsed = std::from_chars(fdinfo.data() + found + kKey.size(), fdinfo.data() + end, client);
  return parsed.ec == std::errc{} && parsed.ptr == fdinfo.data() + end && client != 0 ? std::optional(client)
                                                                                      : std::nullopt;
}

std::optional<Clients::Found> Clients::find(uint64_t client) const {
  const auto known = found_.find(client);
  return known == found_.end() ? std::nullopt : std::optional(known->second);
}

void Clients::learn(uint64_t client, const Credentials& process) {
  if (const auto known = find(client); client != 0 && (!known || known->process.pid == 0)) {
    keep(client, {Owner::recorded, process});
  }
}

void Clients::keep(uint64_t client, Found found) {
  if (found_.size() >= kMaxClients) {
    found_.clear();
  }
  found_[client] = found;
}

void Clients::forget(uint32_t pid) {
  std::erase_if(found_, [pid](const auto& entry) { return entry.second.process.pid == static_cast<pid_t>(pid); });
}

std::optional<Credentials> Clients::recorded_process(uint32_t pid) const {
  std::optional<Credentials> process;
  uint32_t at = pid;
  for (int i = 0; i < kMaxGenerations && at != 0; ++i) {
    const std::string status = read_text(proc_ + "/" + std::to_string(at) + "/status", 4096);
    if (at == pid) {
      const auto users = parse_users(status);
      process = users ? std::optional(Credentials{static_cast<pid_t>(pid), users->uids[0], users->gids[0]}) : process;
    }
    if (at == recorded_) {
      return process;
    }
    const auto parent = status_numbers<uint32_t>(status, "PPid");
    at = parent && parent->size() == 1 ? parent->front() : 0;
  }
  return std::nullopt;
}

bool Clients::Search::goes_on() const {
  return files_left > 0 && monotonic_ns() < until_ns;
}

std::vector<uint64_t> Clients::clients_of(uint32_t pid, Search& search) const {
  std::vector<uint64_t> clients;
  const std::string process = proc_ + "/" + std::to_string(pid);
  for_each_number(process + "/fd", kMaxFilesOfOne, [&](uint32_t file) {
    if (!search.goes_on()) {
      return false;
    }
    --search.files_left;
    const std::string number = std::to_string(file);
    if (is_card(process + "/fd/" + number)) {
      if (const auto client = client_of(read_text(process + "/fdinfo/" + number, kMaxFdInfo))) {
        clients.push_back(*client);
      }
    }
    return true;
  });
  return clients;
}

std::vector<pid_t> Clients::descendants(const Search& search) const {
  std::vector<pid_t> all{static_cast<pid_t>(recorded_)};
  size_t tasks = kMaxProcesses;
  for (size_t i = 0; i < all.size() && (i == 0 || monotonic_ns() < search.until_ns); ++i) {
    add_children(proc_, all[i], search.until_ns, {tasks, kMaxProcesses}, all);
  }
  return all;
}

void Clients::search_files_of(uint32_t pid, Search& search) {
  std::optional<std::optional<Credentials>> recorded;
  for (const uint64_t client : clients_of(pid, search)) {
    const auto wanted = found_.find(client);
    if (wanted == found_.end() || wanted->second.owner == Owner::recorded) {
      continue;
    }
    if (!recorded) {
      recorded = recorded_process(pid);
    }
    wanted->second = *recorded ? Found{Owner::recorded, **recorded} : Found{Owner::other, {}};
  }
}

void Clients::find_owners(const std::vector<uint64_t>& clients, const Limits& limits) {
  for (const uint64_t client : clients) {
    keep(client, {});
  }
  Search search{limits.files, monotonic_ns() + limits.ns};
  for (const pid_t pid : descendants(search)) {
    search_files_of(static_cast<uint32_t>(pid), search);
  }
  for_each_number(proc_, kMaxProcesses, [&](uint32_t pid) {
    search_files_of(pid, search);
    return search.goes_on();
  });
}

}  // namespace gpuprof::backend::drm
