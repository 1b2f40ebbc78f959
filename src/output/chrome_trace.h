// A recorded timeline as a Chrome trace (JSON), which Perfetto and chrome://tracing open.
//
// Processes have a track a thread with their API calls, waits and allocations, and one for its NVTX ranges. Devices are
// processes of their own with a track a stream, a second one where a stream's work overlaps, and a counter of the
// work that was launched and has not ended. Arrows go from each call to its work.
#pragma once

#include <cstdint>
#include <memory>

#include "analyze/stack_view.h"
#include "output/timeline.h"
#include "profile/records.h"
#include "profile/tables.h"

namespace gpuprof::output {

class ChromeTrace : public Timeline {
 public:
  // `tables` knows the definitions of every record before it comes. `stacks` must outlive the trace.
  ChromeTrace(const profile::Tables& tables, const analyze::StackOptions& stacks, Sink sink);
  ChromeTrace(const ChromeTrace&) = delete;
  ChromeTrace& operator=(const ChromeTrace&) = delete;
  ~ChromeTrace() override;

  Status add(const profile::Record& record) override;
  Status finish() override;
  [[nodiscard]] uint64_t events() const override;
  [[nodiscard]] uint64_t left_out() const override;
  [[nodiscard]] const analyze::StackView::Trimmed& trimmed() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprof::output
