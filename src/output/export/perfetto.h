// A recorded timeline as a Perfetto trace: track events, protocol buffers in compressed packets.
// https://perfetto.dev/docs/reference/synthetic-track-event
//
// The tracks are those of the Chrome trace. Each event has its call stack by reference, with files, lines, modules and
// build ids; a call and its work have one flow id.
#pragma once

#include <memory>

#include "output/timeline.h"
#include "profile/tables.h"

namespace gpuprof::output {

class PerfettoTrace : public Timeline {
 public:
  // `tables` knows the definitions of every record before it comes. `stacks` must outlive the trace.
  PerfettoTrace(const profile::Tables& tables, const analyze::StackOptions& stacks, Sink sink);
  PerfettoTrace(const PerfettoTrace&) = delete;
  PerfettoTrace& operator=(const PerfettoTrace&) = delete;
  ~PerfettoTrace() override;

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
