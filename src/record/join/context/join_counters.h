// Counts seen, matched, missing and lost events. Produces totals, LOSS records and COVERAGE records.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "base/recent_map.h"
#include "profile/loss.h"
#include "record/batch.h"
#include "record/join/context/coverage.h"
#include "record/join/context/stack_shape.h"
#include "record/join/context/totals.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class JoinCounters {
 public:
  void add_loss(profile::ProcessId process, profile::LossReason reason, uint64_t count);
  // Counts a rejected record: a value was impossible, or a sum would have overflowed.
  void refuse_record() { ++refused_; }
  void late_name() { ++late_names_; }
  void timeline_full() { ++timeline_dropped_; }
  void weighted(uint64_t slice, profile::ProcessId process, uint64_t launches) {
    weighted_[{slice, process}] += launches;
    totals_.weighted += launches;
  }

  void on_counters(const Source& source, const backend::Counters& counters);
  SourceCoverage& coverage(backend::SourceId source) { return sources_[source].coverage; }
  void stack_walked(backend::SourceId source, const StackShape& shape, uint64_t launches);
  // Stores the reason why the source has no Python frames, for the summary. Does nothing if the target has sent no
  // reason.
  void python_refused(const Source& source);
  // Launches of the source without GPU work that have no row in the profile, because the recorder does not know them.
  struct Unknown {
    uint64_t launches = 0;
    uint64_t weight = 1;  // mean weight of the windows
  };
  [[nodiscard]] Unknown unknown_without_work(backend::SourceId source);
  // Adds the coverage of an ended source to the totals and to the next batch.
  void close(const Source& source);

  Totals& totals() { return totals_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // Stack depths of the launches of ended sources. python_depths() leaves out stacks without Python frames.
  [[nodiscard]] const Depths& native_depths() const { return native_depths_; }
  [[nodiscard]] const Depths& python_depths() const { return python_depths_; }

  void take_new(Batch& batch);

 private:
  struct Counted {
    SourceCoverage coverage;
    backend::Counters counters;  // already validated, see growth()
  };

  RecentMap<std::unordered_map<backend::SourceId, Counted>> sources_;
  // The members from losses_ to closed_ contain only what has been added since the last batch.
  std::map<std::pair<profile::ProcessId, profile::LossReason>, uint64_t> losses_;
  uint64_t refused_ = 0;
  uint64_t late_names_ = 0;
  uint64_t timeline_dropped_ = 0;
  std::map<std::pair<uint64_t, profile::ProcessId>, uint64_t> weighted_;
  std::vector<profile::Coverage> closed_;
  Depths native_depths_;
  Depths python_depths_;
  Totals totals_;
};

}  // namespace gpuprof::record
