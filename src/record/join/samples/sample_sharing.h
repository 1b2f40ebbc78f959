// Samples that name a launch go to the work that it ran. Others are shared out: to the work as which their kernel ran
// in the window that they were taken in, in proportion to its measured time. Exact where that is one work, else marked
// as estimated. Those that say no more than an address go to the kernels that were there and ran (address_lookup.h), or
// to `[unknown]`.
//
// A window's samples wait until the times of its kernels have come, and the code, which comes another way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "base/proportional_split.h"
#include "record/join/context.h"
#include "record/join/samples/address_lookup.h"
#include "record/join/samples/code_reader.h"
#include "record/join/samples/kernel_times.h"
#include "record/join/samples/loaded_kernels.h"
#include "record/join/work_join.h"
#include "record/process/producers.h"

namespace gpuprof::record {

// Where shared samples go. Implemented by SampleJoin.
class SharedSamples {
 public:
  SharedSamples() = default;
  SharedSamples(const SharedSamples&) = delete;
  SharedSamples& operator=(const SharedSamples&) = delete;
  virtual ~SharedSamples() = default;

  // Whether the sum of all samples still fits; what does not is counted.
  virtual bool admit(const Source* source, uint64_t count) = 0;
  virtual void drop(const Source* source, uint64_t count) = 0;
  virtual profile::SamplingId sampling(uint64_t period, backend::SamplingUnit unit) = 0;
  virtual void add(SampleKey key, uint64_t at_ns, uint64_t count, bool has_stack) = 0;
};

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

class SampleSharing {
 public:
  // Times of kernels that have ended come within a second or two: the targets flush each second.
  static constexpr uint64_t kTimesNs = 2'500'000'000;
  static constexpr uint64_t kCodeNs = 15'000'000'000;  // then samples go on without source lines
  static constexpr size_t kMaxCounts = 1'000'000;      // that wait; beyond, the oldest go on with what is known

  SampleSharing(JoinContext& join, const JoinParts& parts, WorkJoin& work, SharedSamples& out)
      : join_(join), parts_(parts), work_(work), out_(out), loaded_(join, parts.producers) {}

  void on_samples(const Source& source, const backend::PlaceSamples& samples);
  void on_window(const Source& source, const backend::SampleWindow& window);

  // By whose code samples that have an address only get their place.
  void on_loaded_kernel(const Source& source, const backend::LoadedKernel& kernel) {
    loaded_.on_kernel(source, kernel);
  }

  // As of WorkJoin.
  void settle(bool last, backend::SourceId only = 0);
  void end_source(backend::SourceId source);

  // Where an instruction is, by the number of whoever has handed over the code.
  using Where = LoadedKernels::Place;
  // As a place of the source's; none where there are too many. What is known of its code is read once.
  profile::GpuPlaceId place(Source& source, const Where& where);

  // At most so many functions of modules that are known, most samples first.
  [[nodiscard]] std::vector<SampledFunction> most_sampled(size_t most) const;

 private:
  struct Count {
    uint64_t offset = 0;
    uint64_t address = 0;  // as of PlaceSamples
    uint32_t reason_id = 0;
    uint32_t samples = 0;
    bool estimated = false;    // by the source
    bool low_address = false;  // as of PlaceSamples
  };
  // Samples of one function in one window, and of one launch where it is known; or (function_id 0) at addresses.
  struct Group {
    backend::SourceId source = 0;
    uint64_t module = 0;
    uint32_t function_id = 0;
    uint64_t correlation = 0;
    backend::SampleWindow window;
    uint64_t closed_ns = 0;  // when the window's record came
    profile::SamplingId sampling;
    std::vector<Count> counts;
    uint64_t next_look_ns = 0;  // at addresses whose kernels may be running still
  };
  using FunctionKey = std::tuple<uint64_t, uint32_t, uint64_t>;  // module, function, correlation id
  struct OpenWindow {
    std::map<FunctionKey, std::vector<Count>> functions;
    uint64_t told = 0;  // samples, those that could not be kept included
  };
  using WindowKey = std::pair<backend::SourceId, uint32_t>;
  // The numbers that a source's places get here.
  struct Code {
    std::map<std::pair<backend::SourceId, uint64_t>, uint32_t> modules;  // by whose number for it
    std::map<Where, profile::GpuPlaceId> places;
    uint32_t last_place = 0;
  };

  // What was sampled at a place.
  struct Tally {
    Where where;
    profile::GpuModuleId in{};
    std::vector<std::pair<NameIndex, uint64_t>> reasons;
  };

  enum class Patience : uint8_t { waits, enough, none };
  [[nodiscard]] Patience patience_of(const Group& group, bool last) const;
  bool take(Group& group, Patience patience);
  bool take_addresses(Source& source, Group& group, Patience patience);
  [[nodiscard]] bool must_wait(const AddressLookup::Answer& answer, uint64_t waited, Patience patience) const;
  void give(Source& source, const Group& group, const Count& count,
            const std::vector<AddressLookup::Candidate>& candidates);
  void give_to_nobody(Source& source, const Group& group, const Count& count);
  [[nodiscard]] std::vector<KernelShare> shares_of(const Source& source, const Group& group, Patience patience,
                                                   std::string_view function);
  KernelShare unknown_work(Source& source, const Group& group);
  [[nodiscard]] Where where(const Source& source, const Group& group, const Count& count) const;
  [[nodiscard]] bool code_may_come(const Source& source, const Group& group) const;
  void tally(const Source& source, const Where& where, const SampleKey& key, uint64_t samples);
  void give(Source& source, const Group& group, const std::vector<KernelShare>& shares);
  void introduce(Source& source, Code& code, const Where& where);
  void drop(const Group& group);

  JoinContext& join_;
  JoinParts parts_;
  WorkJoin& work_;
  SharedSamples& out_;
  LoadedKernels loaded_;
  ProportionalSplit split_;
  std::map<WindowKey, OpenWindow> open_;
  std::vector<Group> waiting_;
  std::unordered_map<backend::SourceId, Code> code_;
  std::unordered_map<uint32_t, Tally> tallies_;  // by place
  size_t counts_ = 0;                            // in open_ and waiting_
  uint64_t next_look_ns_ = 0;
};

}  // namespace gpuprof::record
