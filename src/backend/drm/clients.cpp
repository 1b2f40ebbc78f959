#include "backend/drm/clients.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>

#include "base/files/file.h"
#include "base/process/process_status.h"
#include "base/text/numbers.h"

namespace gpuprof::backend::drm {
namespace {

constexpr size_t kMaxFdInfo = 8192;  // bytes; the fdinfo of a DRM file usually has a few hundred
constexpr size_t kMaxProcesses = 65536;
constexpr int kMaxGenerations = 32;  // number of parents to check, as in bpf/submitter.h

// Calls `take` for the entries of a folder that are named by numbers, but for at most `most` of them.
void for_each_number(const std::string& folder, size_t most, const std::function<void(uint32_t)>& take) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator() && most > 0; entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (const auto number = whole_number<uint32_t>(name)) {
      --most;
      take(*number);
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

void Clients::learn(uint64_t client, uint32_t pid) {
  if (const auto known = find(client); client != 0 && (!known || known->pid == 0)) {
    keep(client, {Owner::recorded, pid});
  }
}

void Clients::keep(uint64_t client, Found found) {
  if (found_.size() >= kMaxClients) {
    found_.clear();
  }
  found_[client] = found;
}

void Clients::forget(uint32_t pid) {
  std::erase_if(found_, [pid](const auto& entry) { return entry.second.pid == pid; });
}

bool Clients::is_recorded(uint32_t pid) const {
  for (int i = 0; i < kMaxGenerations && pid != 0; ++i) {
    if (pid == recorded_) {
      return true;
    }
    const auto parent =
        status_numbers<uint32_t>(read_text(proc_ + "/" + std::to_string(pid) + "/status", 4096), "PPid");
    pid = parent && parent->size() == 1 ? parent->front() : 0;
  }
  return false;
}

std::vector<uint64_t> Clients::clients_of(uint32_t pid, size_t& files_left) const {
  std::vector<uint64_t> clients;
  const std::string process = proc_ + "/" + std::to_string(pid);
  for_each_number(process + "/fd", std::min(kMaxFilesOfOne, files_left), [&](uint32_t file) {
    --files_left;
    const std::string number = std::to_string(file);
    if (is_card(process + "/fd/" + number)) {
      if (const auto client = client_of(read_text(process + "/fdinfo/" + number, kMaxFdInfo))) {
        clients.push_back(*client);
      }
    }
  });
  return clients;
}

void Clients::find_owners(const std::vector<uint64_t>& clients) {
  for (const uint64_t client : clients) {
    keep(client, {});
  }
  size_t files_left = kMaxFiles;
  for_each_number(proc_, kMaxProcesses, [&](uint32_t pid) {
    std::optional<bool> recorded;
    for (const uint64_t client : clients_of(pid, files_left)) {
      const auto wanted = found_.find(client);
      if (wanted == found_.end() || wanted->second.owner == Owner::recorded) {
        continue;
      }
      if (!recorded) {
        recorded = is_recorded(pid);
      }
      wanted->second = *recorded ? Found{Owner::recorded, pid} : Found{Owner::other, 0};
    }
  });
}

}  // namespace gpuprof::backend::drm
