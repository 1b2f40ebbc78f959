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
    uint32_t pid = 0;  // 0 unless `owner` is Owner::recorded
  };
  // Returns nullopt if find_owners() was not yet called for the client.
  [[nodiscard]] std::optional<Found> find(uint64_t client) const;

  // Stores the owner of a client. It is a recorded process, because it queued a job for the client.
  void learn(uint64_t client, uint32_t pid);
  void forget(uint32_t pid);

  // Searches the open files of all processes once. If no process has one of the clients open, its owner is
  // Owner::unknown.
  void find_owners(const std::vector<uint64_t>& clients);

  static constexpr size_t kMaxClients = 65536;
  static constexpr size_t kMaxFilesOfOne = 4096;  // files to search in one process
  static constexpr size_t kMaxFiles = 131072;     // files to search in all processes, per find_owners()

 private:
  [[nodiscard]] bool is_recorded(uint32_t pid) const;
  [[nodiscard]] std::vector<uint64_t> clients_of(uint32_t pid, size_t& files_left) const;
  void keep(uint64_t client, Found found);

  uint32_t recorded_;
  std::string proc_;
  std::unordered_map<uint64_t, Found> found_;
};

}  // namespace gpuprof::backend::drm
