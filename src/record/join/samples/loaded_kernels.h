// Maps GPU addresses to loaded kernels, for samples that consist only of a process and an address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/context/context.h"
#include "record/process/code/code_reader.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class LoadedKernels {
 public:
  static constexpr size_t kMaxKernels = 262'144;

  LoadedKernels(JoinContext& join, Producers& producers) : join_(join), producers_(producers) {}

  void on_kernel(const Source& source, const backend::LoadedKernel& kernel);
  // Call it after each poll iteration, because names may have arrived.
  void retry_pending();
  void end_source(backend::SourceId source);

  // Returns the kernel that was at the address at some time in [start_ns, end_ns]. Also finds kernels of ended sources.
  // Returns nullopt if the address held no kernel or several kernels.
  [[nodiscard]] std::optional<CodeLocation> find(profile::ProcessId process, uint64_t address, uint64_t start_ns,
                                                 uint64_t end_ns) const;

  // A sampled address. If only its low 32 bits are known, all 4 GiB regions that hold kernels are searched; they are
  // few.
  struct Sampled {
    uint64_t address = 0;
    bool is_low = false;
    uint32_t device = 0;  // the source's id of the device
    // If `device` is a partition, the device that it belongs to; otherwise the same as `device`.
    uint32_t whole = 0;
  };
  // Returns up to kMaxFound kernels at the address, without duplicates. Their device is `device`, `whole` or unknown.
  [[nodiscard]] std::vector<CodeLocation> find_all(profile::ProcessId process, const Sampled& sampled,
                                                   uint64_t start_ns, uint64_t end_ns) const;
  static constexpr size_t kMaxFound = 16;
  static constexpr size_t kMaxRegions = 64;  // 4 GiB regions that are searched per process

 private:
  struct Kernel {
    backend::SourceId source = 0;
    uint64_t module = 0;
    uint64_t load = 0;
    NameIndex name = 0;
    uint32_t device = UINT32_MAX;
    uint64_t from_ns = 0;
    uint64_t until_ns = UINT64_MAX;
  };
  using Space = std::map<uint64_t, std::vector<Kernel>>;
  struct Waiting {
    backend::SourceId source = 0;
    backend::LoadedKernel kernel;
  };

  void add(const Source& source, const backend::LoadedKernel& kernel);
  void remove(const Source& source, const backend::LoadedKernel& gone);
  [[nodiscard]] uint64_t bytes_of(const Kernel& kernel) const;  // 0: unknown
  // Calls `take` for wanted kernels that may contain the address. If a kernel's size is unknown, this is possible only
  // for the nearest one below the address.
  template <typename Wanted, typename Take>
  void look(const Space& space, uint64_t address, size_t& looks, Wanted is_wanted, Take take) const;

  JoinContext& join_;
  Producers& producers_;
  std::map<profile::ProcessId, Space> spaces_;
  std::map<profile::ProcessId, std::set<uint64_t>> regions_;  // upper bits of the 4 GiB regions that hold kernels
  // Maps a source and a LoadedKernel::load to addresses of kernels.
  std::map<std::pair<backend::SourceId, uint64_t>, std::vector<uint64_t>> loads_;
  std::vector<Waiting> waiting_;  // kernels whose names have not arrived, in order of arrival
  std::set<backend::SourceId> waits_;
  size_t count_ = 0;
};

}  // namespace gpuprof::record
