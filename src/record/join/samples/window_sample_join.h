// Attributes samples whose time is known only as a window (SampleWindow). Samples with a correlation id go to the work
// of that launch. Other samples are apportioned among the works that ran their kernel in the window, by measured time.
// If there are several such works, the samples are marked as estimated. Samples with only an address go to kernels that
// were loaded there and ran, or to `[unknown]` (address_lookup.h). The samples of a window wait until the times and the
// code of its kernels have arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "base/proportional_split.h"
#include "record/join/context/context.h"
#include "record/join/context/parts.h"
#include "record/join/context/pending.h"
#include "record/join/samples/address_lookup.h"
#include "record/join/samples/loaded_kernels.h"
#include "record/join/samples/sampled_code.h"
#include "record/join/sums/kernel_times.h"
#include "record/join/sums/sample_rows.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class WindowSampleJoin {
 public:
  // Samples wait for kernel times for this long. The times arrive within two seconds, because targets flush once a
  // second.
  static constexpr uint64_t kTimesNs = 2'500'000'000;
  // Limit on waiting Counts. Above it, samples no longer wait.
  static constexpr size_t kMaxCounts = 1'000'000;
  // Limits of one retry_pending() in JoinContext::compared. The rings are not read during that time. Further samples
  // wait for the next call. In the last one, their work is unknown.
  static constexpr uint64_t kMaxCompared = 500'000;
  static constexpr uint64_t kMaxComparedLast = 5'000'000;
  // Limit on the works among which the samples of a group are apportioned, times the counts of the group.
  static constexpr size_t kMaxParts = 4'000'000;

  WindowSampleJoin(JoinContext& join, const JoinParts& parts, SampleRows& rows, const LoadedKernels& loaded,
                   SampledCode& places)
      : join_(join), parts_(parts), rows_(rows), loaded_(loaded), places_(places) {}

  void on_samples(const Source& source, const backend::LocationSamples& samples);
  void on_window(const Source& source, const backend::SampleWindow& window);

  // See WorkJoin::retry_pending().
  void retry_pending(bool last, backend::SourceId only = 0);
  void end_source(backend::SourceId source);

 private:
  struct Count {
    uint64_t offset = 0;
    uint64_t address = 0;  // see LocationSamples::address
    uint32_t reason_id = 0;
    uint32_t samples = 0;
    // True if the source has estimated which function the samples belong to.
    bool estimated = false;
    bool low_address = false;  // see LocationSamples::low_address
  };
  // Samples of one function in one window, and of one launch if that is known. If function_id is 0, the samples have
  // only addresses.
  struct Group {
    backend::SourceId source = 0;
    uint64_t module = 0;
    uint32_t function_id = 0;
    uint64_t correlation = 0;
    backend::SampleWindow window;
    uint64_t closed_ns = 0;  // when the end of the window arrived (CLOCK_MONOTONIC)
    profile::SamplingId sampling;
    std::vector<Count> counts;
    // Time of the next try. Used only for samples with addresses.
    uint64_t next_check_ns = 0;
  };
  using FunctionKey = std::tuple<uint64_t, uint32_t, uint64_t>;  // module, function, correlation id
  struct OpenWindow {
    std::map<FunctionKey, std::vector<Count>> functions;
    uint64_t told = 0;
  };
  using WindowKey = std::pair<backend::SourceId, uint32_t>;
  using Candidates = std::vector<AddressLookup::Candidate>;

  [[nodiscard]] bool may_compare() const { return join_.compared < compared_until_; }
  bool take(Group& group, RetryPolicy policy);
  bool take_addresses(Source& source, Group& group, RetryPolicy policy);
  [[nodiscard]] bool must_wait(const AddressLookup::Answer& answer, uint64_t waited, RetryPolicy policy) const;
  [[nodiscard]] std::vector<KernelShare> shares_of(const Source& source, const Group& group, RetryPolicy policy);
  [[nodiscard]] KernelShare unknown_work(Source& source, const Group& group);
  [[nodiscard]] CodeLocation location_of(const Source& source, const Group& group, const Count& count) const;
  void add(const Source& source, const Group& group, const Count& count, const Candidates& candidates);
  void add_unknown(const Source& source, const Group& group, const Count& count);

  JoinContext& join_;
  JoinParts parts_;
  SampleRows& rows_;
  const LoadedKernels& loaded_;
  SampledCode& places_;
  ProportionalSplit split_;
  std::map<WindowKey, OpenWindow> open_;
  std::vector<Group> waiting_;
  size_t counts_ = 0;
  uint64_t next_check_ns_ = 0;
  uint64_t compared_until_ = 0;
  size_t next_group_ = 0;  // the first group in `waiting_` that the last retry_pending() had to leave out
};

}  // namespace gpuprof::record
