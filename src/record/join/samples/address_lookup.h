// Attributes samples that have only an address. Finds the kernels at that address that ran in the samples' window.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/samples/loaded_kernels.h"
#include "record/join/sums/kernel_times.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class AddressLookup {
 public:
  AddressLookup(const LoadedKernels& loaded, const KernelTimes& times, const Source& source,
                const backend::SampleWindow& window)
      : loaded_(loaded), times_(times), source_(source), window_(window) {}

  // A kernel whose code is at the sampled address, and work that ran this kernel in the sample's window.
  struct Candidate {
    CodeLocation at;
    KernelShare share;
  };
  struct Answer {
    std::vector<CodeLocation> places;  // code loaded at the address; empty: the code is unknown
    // Empty if no kernel at the address has run in the window and ended.
    std::vector<Candidate> ran;
  };
  // The result is valid until the next call. Caches the last result, because consecutive samples often have the same
  // address.
  [[nodiscard]] const Answer& find(uint64_t address, bool is_low);

 private:
  const std::vector<KernelShare>& shares(NameIndex kernel);

  const LoadedKernels& loaded_;
  const KernelTimes& times_;
  const Source& source_;
  const backend::SampleWindow& window_;
  std::map<NameIndex, std::vector<KernelShare>> shares_;
  std::optional<std::pair<uint64_t, bool>> asked_;
  Answer answer_;
};

}  // namespace gpuprof::record
