// Numbers the code locations of samples and adds their source lines. Counts the samples of each location.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/join/context/context.h"
#include "record/process/code/code_reader.h"
#include "record/process/producers.h"

namespace gpuprof::record {

struct SampledPlace {
  profile::GpuPlaceId place{};
  uint64_t offset = 0;
  uint64_t samples = 0;
  NameIndex reason = 0;
};
struct SampledFunction {
  // One of the sources that loaded the function.
  backend::SourceId source = 0;
  uint64_t module = 0;
  profile::GpuModuleId in{};
  std::string name;
  uint64_t samples = 0;
  std::vector<SampledPlace> places;  // most samples first
};

class SampledCode {
 public:
  // Samples and counts wait for their GPU code for up to this time.
  static constexpr uint64_t kCodeNs = 15'000'000'000;

  SampledCode(JoinContext& join, Producers& producers) : join_(join), producers_(producers) {}

  [[nodiscard]] bool may_come(const CodeLocation& at) const;
  // Returns the kernel that contains `function`. Returns `function` if it is itself a kernel, has several callers or is
  // unknown.
  [[nodiscard]] NameIndex kernel_of(backend::SourceId source, uint64_t module, NameIndex function);

  // Returns the id of a location, or 0 above kMaxPlaces or the memory budget. Reads the location's source lines on the
  // first call.
  profile::GpuPlaceId place(const Source& source, const CodeLocation& at);

  void add_samples(const Source& source, const CodeLocation& at, profile::GpuPlaceId place, NameIndex reason,
                   uint64_t samples);
  [[nodiscard]] std::vector<SampledFunction> most_sampled(size_t most) const;

  void end_source(backend::SourceId source) { code_.erase(source); }

 private:
  struct Code {
    std::map<std::pair<backend::SourceId, uint64_t>, profile::GpuModuleId> modules;
    std::map<CodeLocation, profile::GpuPlaceId> places;
  };
  struct Sampled {
    CodeLocation at;
    profile::GpuModuleId in{};
    std::vector<std::pair<NameIndex, uint64_t>> reasons;
  };
  profile::GpuModuleId module_of(Code& code, const CodeLocation& at);

  JoinContext& join_;
  Producers& producers_;
  std::unordered_map<backend::SourceId, Code> code_;
  std::unordered_map<profile::GpuPlaceId, Sampled> sampled_;
};

}  // namespace gpuprof::record
