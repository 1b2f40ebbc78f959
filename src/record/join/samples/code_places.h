// The places in GPU code that samples were taken in: their numbers in the session, with the source lines that are known
// of them, and how often each was sampled.
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

// What was sampled of a function, over the whole recording.
struct SampledPlace {
  profile::GpuPlaceId place{};
  uint64_t offset = 0;  // in the function
  uint64_t samples = 0;
  NameIndex reason = 0;  // that most of them were for
};
struct SampledFunction {
  backend::SourceId source = 0;  // of some process that has it
  uint64_t module = 0;           // by that source's number
  profile::GpuModuleId in{};     // the same, by the session's
  std::string name;
  uint64_t samples = 0;
  std::vector<SampledPlace> places;  // most samples first
};

class CodePlaces {
 public:
  static constexpr uint64_t kCodeNs = 15'000'000'000;  // then samples and counts go on without their code

  CodePlaces(JoinContext& join, Producers& producers) : join_(join), producers_(producers) {}

  // Whether the code of the location's module is still on its way.
  [[nodiscard]] bool may_come(const CodeLocation& at) const;
  // The kernel in whose code the function lies; itself, if it is a kernel, if several call it, or if nobody knows.
  [[nodiscard]] NameIndex kernel_of(backend::SourceId source, uint64_t module, NameIndex function);

  // The number of a location that `source` has samples of; none where there are too many. What is known of its code is
  // read once.
  profile::GpuPlaceId place(const Source& source, const CodeLocation& at);

  // `place` is that of `at`.
  void add_samples(const Source& source, const CodeLocation& at, profile::GpuPlaceId place, NameIndex reason,
                   uint64_t samples);
  // At most so many functions of modules that are known, most samples first.
  [[nodiscard]] std::vector<SampledFunction> most_sampled(size_t most) const;

  void end_source(backend::SourceId source) { code_.erase(source); }

 private:
  // What samples of one source are in.
  struct Code {
    std::map<std::pair<backend::SourceId, uint64_t>, profile::GpuModuleId> modules;  // whose code has come
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
