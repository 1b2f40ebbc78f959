#include "record/join/samples/loaded_kernels.h"

#include <algorithm>
#include <iterator>

#include "backend/kernel_addresses.h"
#include "profile/loss.h"

namespace gpuprof::record {
namespace {

constexpr size_t kMaxWaiting = 65'536;
constexpr size_t kMaxAtAddress = 64;  // limit on kernels per address; above it, the oldest is dropped
constexpr size_t kMaxLookups = 64;    // limit on kernels that are compared with a sampled address
// A lookup ends after it has skipped this many kernels of other times or devices.
constexpr size_t kMaxOthers = 4096;
constexpr size_t kMaxLookupsInRegions = 16 * kMaxLookups;
constexpr uint64_t kRegionBits = 32;
constexpr uint64_t kAddressBits = 48;  // drivers disagree on whether to sign-extend the upper bits

uint64_t plain(uint64_t address) {
  return address & ((uint64_t{1} << kAddressBits) - 1);
}

}  // namespace

// Keeps the order of a source's events. An unload must follow its load, even if the load waits for a name.
void LoadedKernels::on_kernel(const Source& source, const backend::LoadedKernel& kernel) {
  if (!waits_.contains(source.id) && source.knows_name(kernel.name_id)) {
    add(source, kernel);
  } else if (waiting_.size() < kMaxWaiting) {
    waiting_.push_back({source.id, kernel});
    waits_.insert(source.id);
  } else {
    join_.counters.add_loss(source.process(), profile::LossReason::details_lost, 1);
  }
}

void LoadedKernels::retry_pending() {
  if (waiting_.empty()) {
    return;
  }
  waits_.clear();
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const Source* const source = producers_.find(waiting.source);
    const bool stays = waits_.contains(waiting.source);
    if (source != nullptr && (stays || !source->knows_name(waiting.kernel.name_id))) {
      waits_.insert(waiting.source);
      return false;
    }
    if (source != nullptr) {
      add(*source, waiting.kernel);
    }
    return true;
  });
}

void LoadedKernels::add(const Source& source, const backend::LoadedKernel& kernel) {
  if (kernel.gone) {
    remove(source, kernel);
    return;
  }
  if (count_ >= kMaxKernels || !join_.memory().admit()) {
    join_.counters.add_loss(source.process(), profile::LossReason::details_lost, 1);
    return;
  }
  const Kernel made{.source = source.id,
                    .module = kernel.module,
                    .load = kernel.load,
                    .name = source.name(kernel.name_id),
                    .device = kernel.device,
                    .from_ns = join_.clamped_call_time(kernel.time_ns)};
  std::vector<Kernel>& here = spaces_[source.process()][plain(kernel.address)];
  // Ignore a second load of the same kernel. Other kernels may be at the same address, because each device has its own
  // address space.
  if (std::any_of(here.begin(), here.end(), [&made](const Kernel& other) {
        return other.until_ns == UINT64_MAX && std::tie(other.source, other.load, other.name, other.device) ==
                                                   std::tie(made.source, made.load, made.name, made.device);
      })) {
    return;
  }
  if (here.size() >= kMaxAtAddress) {
    here.erase(here.begin());
    --count_;
  }
  here.push_back(made);
  if (std::set<uint64_t>& regions = regions_[source.process()]; regions.size() < kMaxRegions) {
    regions.insert(plain(kernel.address) >> kRegionBits);
  }
  loads_[{source.id, kernel.load}].push_back(plain(kernel.address));
  ++count_;
  join_.memory().grew(sizeof(Kernel) + sizeof(uint64_t) + 8 * sizeof(void*));
}

void LoadedKernels::remove(const Source& source, const backend::LoadedKernel& gone) {
  const auto load = loads_.find({source.id, gone.load});
  const auto space = spaces_.find(source.process());
  if (load == loads_.end() || space == spaces_.end()) {
    return;
  }
  for (const uint64_t address : load->second) {
    for (Kernel& kernel : space->second[address]) {
      if (kernel.source == source.id && kernel.load == gone.load) {
        kernel.until_ns = std::max(kernel.from_ns, join_.clamped_call_time(gone.time_ns));
      }
    }
  }
  loads_.erase(load);
}

void LoadedKernels::end_source(backend::SourceId source) {
  std::erase_if(waiting_, [source](const Waiting& waiting) { return waiting.source == source; });
  waits_.erase(source);
  loads_.erase(loads_.lower_bound({source, 0}), loads_.upper_bound({source, UINT64_MAX}));
}

uint64_t LoadedKernels::bytes_of(const Kernel& kernel) const {
  CodeReader* const reader = join_.options.code_reader;
  return reader == nullptr || kernel.module == 0
             ? 0
             : reader->code_bytes(kernel.source, kernel.module, producers_.names().text(kernel.name));
}

template <typename Wanted, typename Take>
void LoadedKernels::look(const Space& space, uint64_t address, size_t& looks, Wanted is_wanted, Take take) const {
  bool nearest = true;
  size_t others = kMaxOthers;
  backend::for_each_start_before(space, address, [&](uint64_t start, const std::vector<Kernel>& kernels) {
    bool any = false;
    join_.compared += kernels.size();
    for (const Kernel& kernel : kernels) {
      // Many kernels may have been unloaded, so skip at most kMaxOthers.
      if (!is_wanted(kernel)) {
        if (--others == 0) {
          return false;
        }
        continue;
      }
      if (looks == 0) {
        return false;
      }
      --looks;
      any = true;
      const uint64_t bytes = bytes_of(kernel);
      if (bytes == 0 ? nearest : address - start < bytes) {
        take(CodeLocation{kernel.source, kernel.module, kernel.name, address - start});
      }
    }
    nearest = nearest && !any;
    return looks > 0;
  });
}

std::optional<CodeLocation> LoadedKernels::find(profile::ProcessId process, uint64_t address, uint64_t start_ns,
                                                uint64_t end_ns) const {
  const auto space = spaces_.find(process);
  if (space == spaces_.end()) {
    return std::nullopt;
  }
  std::optional<CodeLocation> found;
  bool several = false;
  size_t looks = kMaxLookups;
  look(
      space->second, plain(address), looks,
      [&](const Kernel& kernel) { return kernel.from_ns <= end_ns && kernel.until_ns >= start_ns; },
      [&](const CodeLocation& at) {
        several = several || (found && *found != at);
        found = at;
      });
  return several ? std::nullopt : found;
}

std::vector<CodeLocation> LoadedKernels::find_all(profile::ProcessId process, const Sampled& sampled, uint64_t start_ns,
                                                  uint64_t end_ns) const {
  std::vector<CodeLocation> found;
  const auto space = spaces_.find(process);
  if (space == spaces_.end()) {
    return found;
  }
  const auto is_wanted = [&](const Kernel& kernel) {
    return kernel.from_ns <= end_ns && kernel.until_ns >= start_ns &&
           (kernel.device == sampled.device || kernel.device == sampled.whole || kernel.device == UINT32_MAX);
  };
  const auto take = [&found](const CodeLocation& at) {
    if (found.size() < kMaxFound && std::find(found.begin(), found.end(), at) == found.end()) {
      found.push_back(at);
    }
  };
  size_t looks = kMaxLookups;
  if (!sampled.is_low) {
    look(space->second, plain(sampled.address), looks, is_wanted, take);
    return found;
  }
  size_t left = kMaxLookupsInRegions;
  for (const uint64_t region : regions_.at(process)) {
    looks = std::min(kMaxLookups, left);
    left -= looks;
    look(space->second, (region << kRegionBits) | sampled.address, looks, is_wanted, take);
    left += looks;  // later regions may use the lookups that this one did not need
  }
  return found;
}

}  // namespace gpuprof::record
