// Finds the process that owns a DRM client (an open file of a GPU driver), for jobs that a kernel thread queues for the
// client. Reads /proc/PID/fdinfo of each process's files. Client numbers are unique over all drivers and
// never reused, in every Linux kernel that reports the client of a job.
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

namespace gpuprof::backend::drm {

// Returns the "drm-client-id" in the text of an fdinfo. nullopt: the file is not a DRM client.
std::optional<uint64_t> client_of(std::string_view fdinfo);

class Clients {
 public:
  // The process `recorded` and its descendants are recorded. `proc` replaces /proc in tests.
  explicit Clients(pid_t recorded, std::string proc = "/proc")
      : recorded_(static_cast<uint32_t>(recorded)), proc_(std::move(proc)) {}

  enum class Owner { recorded, other, unknown };
  struct Found {
    Owner owner = Owner::unknown;
    uint32_t pid = 0;  // 0 unless `owner` is Owner::recorded
  };
  // Returns nullopt if the client was not searched yet: call find_owners().
  [[nodiscard]] std::optional<Found> find(uint64_t client) const;

  // Stores the owner of a client: a recorded process that queued a job for it.
  void learn(uint64_t client, uint32_t pid);
  // Drops the clients of a process that has ended.
  void forget(uint32_t pid);

  // Searches the files of all processes once. If no process has a client, sets its owner to Owner::unknown.
  void find_owners(const std::vector<uint64_t>& clients);

  static constexpr size_t kMaxClients = 65536;
  static constexpr size_t kMaxFilesOfOne = 4096;  // limit of files searched in one process
  static constexpr size_t kMaxFiles = 131072;     // limit of files searched in one find_owners(), in all processes

 private:
  [[nodiscard]] bool is_recorded(uint32_t pid) const;
  [[nodiscard]] std::vector<uint64_t> clients_of(uint32_t pid, size_t& files_left) const;
  void keep(uint64_t client, Found found);

  uint32_t recorded_;
  std::string proc_;
  std::unordered_map<uint64_t, Found> found_;
};

}  // namespace gpuprof::backend::drm
