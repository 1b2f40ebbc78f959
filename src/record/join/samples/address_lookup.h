// Whose samples are that say no more than an address on a device: the kernels that were loaded there, and ran in the
// window that the samples were taken in.
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
  // For samples of one window of the source's.
  AddressLookup(const LoadedKernels& loaded, const KernelTimes& times, const Source& source,
                const backend::SampleWindow& window)
      : loaded_(loaded), times_(times), source_(source), window_(window) {}

  // Work as which the kernel ran in the window.
  struct Candidate {
    CodeLocation at;
    KernelShare share;
  };
  struct Answer {
    std::vector<CodeLocation> places;  // what was loaded there; none: it is nobody's
    std::vector<Candidate> ran;        // none: nothing of it did, or it is running still
  };
  // Until the next call. The reasons at one address follow each other, so the last answer is kept.
  [[nodiscard]] const Answer& find(uint64_t address, bool is_low);

 private:
  const std::vector<KernelShare>& shares(NameIndex kernel);

  const LoadedKernels& loaded_;
  const KernelTimes& times_;
  const Source& source_;
  const backend::SampleWindow& window_;
  std::map<NameIndex, std::vector<KernelShare>> shares_;
  std::optional<std::pair<uint64_t, bool>> asked_;
  Answer answer_;  // to that
};

}  // namespace gpuprof::record
