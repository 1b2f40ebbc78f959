// What was seen, matched, missed and lost, in numbers: totals, LOSS and COVERAGE records.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "profile/loss.h"
#include "record/batch.h"
#include "record/join/context/coverage.h"
#include "record/join/context/stack_shape.h"
#include "record/join/context/totals.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class Tally {
 public:
  void add_loss(profile::ProcessId process, profile::LossReason reason, uint64_t count);
  // A record with which a sum would not fit, or that cannot be true.
  void refuse_record() { ++refused_; }
  void late_name() { ++late_names_; }
  void timeline_full() { ++timeline_dropped_; }

  void on_counters(const Source& source, const backend::Counters& counters);
  SourceCoverage& coverage(backend::SourceId source) { return sources_[source].coverage; }
  // So many launches have a stack of this shape.
  void stack_walked(backend::SourceId source, const StackShape& shape, uint64_t launches);
  // Who looks for the Python frames of the source should be told why there are none.
  void python_refused(const Source& source);
  // The source's share of the trust footer: nothing more will come from it.
  void close(const Source& source);

  Totals& totals() { return totals_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // Of the stacks of launches, as far as their sources have ended: native frames, and Python frames where there are
  // any.
  [[nodiscard]] const Depths& native_depths() const { return native_depths_; }
  [[nodiscard]] const Depths& python_depths() const { return python_depths_; }

  void take_new(Batch& batch);

 private:
  struct Counted {
    SourceCoverage coverage;
    backend::Counters counters;  // as far as they are believed
  };

  std::unordered_map<backend::SourceId, Counted> sources_;
  std::map<std::pair<profile::ProcessId, profile::LossReason>, uint64_t> losses_;  // since the last batch, as ...
  uint64_t refused_ = 0;                                                           // ... are these
  uint64_t late_names_ = 0;
  uint64_t timeline_dropped_ = 0;
  std::vector<profile::Coverage> closed_;
  Depths native_depths_;
  Depths python_depths_;
  Totals totals_;
};

}  // namespace gpuprof::record
