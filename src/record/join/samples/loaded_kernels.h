// Where kernels lie on the GPU, as the processes say that have loaded them: for samples that are told by somebody else,
// who knows a process and an address and nothing more.
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
  static constexpr size_t kMaxKernels = 262'144;  // beyond, further ones stay unknown

  LoadedKernels(JoinContext& join, Producers& producers) : join_(join), producers_(producers) {}

  void on_kernel(const Source& source, const backend::LoadedKernel& kernel);
  // After each turn: names may have come.
  void settle();
  void end_source(backend::SourceId source);

  // Which kernel of the process was there within [start_ns, end_ns], also if the source that has loaded it has ended.
  // Nothing where it is not known, or where several were, one after the other or on several devices.
  [[nodiscard]] std::optional<CodeLocation> find(profile::ProcessId process, uint64_t address, uint64_t start_ns,
                                                 uint64_t end_ns) const;

  // An address on a device. The hardware samples the low 32 bits of it: kernels lie in some 4 GiB, each device's own.
  struct Sampled {
    uint64_t address = 0;
    bool is_low = false;  // only the low 32 bits are known
    uint32_t device = 0;  // the source's numbers: kernels made for the one or the other are meant, ...
    uint32_t whole = 0;   // ... and those whose device is not known
  };
  // All kernels of the process that may be meant, each once, kMaxFound at most.
  [[nodiscard]] std::vector<CodeLocation> find_all(profile::ProcessId process, const Sampled& sampled,
                                                   uint64_t start_ns, uint64_t end_ns) const;
  static constexpr size_t kMaxFound = 16;
  static constexpr size_t kMaxRegions = 64;  // of 4 GiB in a process that are looked at

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
  using Space = std::map<uint64_t, std::vector<Kernel>>;  // by address
  struct Waiting {
    backend::SourceId source = 0;
    backend::LoadedKernel kernel;
  };

  void add(const Source& source, const backend::LoadedKernel& kernel);
  void remove(const Source& source, const backend::LoadedKernel& gone);
  [[nodiscard]] uint64_t bytes_of(const Kernel& kernel) const;  // 0: not known
  // Calls `take` for each kernel that is wanted by `is_wanted` and whose code may have the address. Of code whose size
  // is not known only the nearest.
  template <typename Wanted, typename Take>
  void look(const Space& space, uint64_t address, size_t& looks, Wanted is_wanted, Take take) const;

  JoinContext& join_;
  Producers& producers_;
  std::map<profile::ProcessId, Space> spaces_;
  std::map<profile::ProcessId, std::set<uint64_t>> regions_;  // of 4 GiB that kernels were in, by their upper bits
  std::map<std::pair<backend::SourceId, uint64_t>, std::vector<uint64_t>> loads_;  // what lives: its addresses
  std::vector<Waiting> waiting_;                                                   // for their names, in their order
  std::set<backend::SourceId> waits_;                                              // whose
  size_t count_ = 0;
};

}  // namespace gpuprof::record
