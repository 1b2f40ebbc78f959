// Finds the process that owns a DRM client, which is an open file of a GPU driver. The recorder needs it for jobs
// that a kernel thread queues for a client. Reads the /proc/PID/fdinfo of all processes. Every Linux kernel that
// reports the client of a job numbers clients uniquely over all drivers, and never reuses a number.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/process/credentials.h"

namespace gpuprof::backend::drm {

// Returns the "drm-client-id" in a fdinfo text. Returns nullopt if the file is not a DRM client.
std::optional<uint64_t> client_of(std::string_view fdinfo);

class Clients {
 public:
  // `recorded` and its descendants are the recorded processes. Tests pass another folder as `proc`.
  explicit Clients(pid_t recorded, std::string proc = "/proc")
      : recorded_(static_cast<uint32_t>(recorded)), proc_(std::move(proc)) {}

  enum class Owner { recorded, other, unknown };
  struct Found {
    Owner owner = Owner::unknown;
    Credentials process;  // pid 0 unless `owner` is Owner::recorded
  };
  // Returns nullopt if find_owners() was not yet called for the client.
  [[nodiscard]] std::optional<Found> find(uint64_t client) const;

  // Stores the owner of a client. It is a recorded process, because it queued a job for the client.
  void learn(uint64_t client, const Credentials& process);
  void forget(uint32_t pid);

  // Limits of one find_owners(). Other users may open many files, and the driver may need milliseconds to describe one.
  struct Limits {
    size_t files = 131072;
    uint64_t ns = 50'000'000;
  };

  // Searches the open files of all processes once, those of recorded processes first. The owner of a client that is not
  // found is Owner::unknown.
  void find_owners(const std::vector<uint64_t>& clients, const Limits& limits);
  void find_owners(const std::vector<uint64_t>& clients) { find_owners(clients, Limits()); }

  static constexpr size_t kMaxClients = 65536;
  static constexpr size_t kMaxFilesOfOne = 4096;  // files to search in one process

 private:
  // Returns the process with its real user and group. Returns nullopt if it is not recorded.
  [[nodiscard]] std::optional<Credentials> recorded_process(uint32_t pid) const;
  struct Search {
    size_t files_left = 0;
    uint64_t until_ns = 0;
    [[nodiscard]] bool goes_on() const;
  };
  [[nodiscard]] std::vector<uint64_t> clients_of(uint32_t pid, Search& search) const;
  [[nodiscard]] std::vector<pid_t> descendants(const Search& search) const;
  void search_files_of(uint32_t pid, Search& search);
  void keep(uint64_t client, Found found);

  uint32_t recorded_;
  std::string proc_;
  std::unordered_map<uint64_t, Found> found_;
};

}  // namespace gpuprof::backend::drm
