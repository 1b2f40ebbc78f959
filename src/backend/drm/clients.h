// Whose a DRM client is (an open file of a GPU's driver), where jobs are queued for it by a thread of the kernel: by
// what /proc/PID/fdinfo says of each process's files. Kernels that name a job's client number clients over all drivers,
// and use no number again.
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

// "drm-client-id" of the text of an fdinfo; nothing: it is not a DRM client's.
std::optional<uint64_t> client_of(std::string_view fdinfo);

class Clients {
 public:
  // `recorded`: whose descendants are recorded, and itself. `proc`: /proc.
  explicit Clients(pid_t recorded, std::string proc = "/proc")
      : recorded_(static_cast<uint32_t>(recorded)), proc_(std::move(proc)) {}

  enum class Owner { recorded, other, unknown };
  struct Found {
    Owner owner = Owner::unknown;
    uint32_t pid = 0;  // of a recorded one
  };
  // Nothing: it must be looked for.
  [[nodiscard]] std::optional<Found> find(uint64_t client) const;

  // A recorded process has queued a job for this client itself.
  void learn(uint64_t client, uint32_t pid);
  // A process has ended.
  void forget(uint32_t pid);

  // Asks all processes, once, for all of these clients. Of those that nobody has it is not known whose they were.
  void look_for(const std::vector<uint64_t>& clients);

  static constexpr size_t kMaxClients = 65536;
  static constexpr size_t kMaxFilesOfOne = 4096;  // a process may have any number
  static constexpr size_t kMaxFiles = 131072;     // of all, in one look

 private:
  [[nodiscard]] bool is_recorded(uint32_t pid) const;
  [[nodiscard]] std::vector<uint64_t> clients_of(uint32_t pid, size_t& files_left) const;
  void keep(uint64_t client, Found found);

  uint32_t recorded_;
  std::string proc_;
  std::unordered_map<uint64_t, Found> found_;
};

}  // namespace gpuprof::backend::drm
