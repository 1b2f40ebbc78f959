// Shows the live view of a session. Without a view, all functions do nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "record/join/correlator.h"
#include "record/live/live_sums.h"
#include "record/live/live_view.h"
#include "wire/wire.h"

namespace gpuprof::record {

class LiveShow {
 public:
  // `view` may be null.
  LiveShow(LiveView* view, std::shared_ptr<MemoryBudget> memory, uint64_t start_ns)
      : view_(view),
        sums_(view == nullptr ? nullptr : std::make_unique<LiveSums>(*view, std::move(memory))),
        start_ns_(start_ns) {}
  LiveShow(const LiveShow&) = delete;
  LiveShow& operator=(const LiveShow&) = delete;
  ~LiveShow() { hide(); }

  [[nodiscard]] LiveSums* sums() const { return sums_.get(); }

  void show_if_due(uint64_t now_ns, const Correlator& correlator, bool recording) {
    if (view_ == nullptr || now_ns < next_ns_) {
      return;
    }
    next_ns_ = now_ns + view_->interval_ns();
    LiveState state = sums_->state();
    state.elapsed_ns = now_ns - start_ns_;
    const Totals& totals = correlator.totals();
    state.between_windows = totals.counts[GPUPROF_COUNT_PASSED];
    state.launches = totals.launches + state.between_windows;
    if (state.between_windows > 0 && totals.weighted > 0) {
      state.scale = static_cast<double>(state.launches) / static_cast<double>(totals.weighted);
    }
    state.lost = totals.lost_in_all();
    state.recording = recording;
    view_->show(state);
  }

  void hide() {
    if (view_ != nullptr) {
      view_->hide();
    }
  }

 private:
  LiveView* view_;
  std::unique_ptr<LiveSums> sums_;
  uint64_t start_ns_;
  uint64_t next_ns_ = 0;
};

}  // namespace gpuprof::record
