// Writes a profile, and passes its records to the live view if that exists.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "profile/writer.h"
#include "record/live/live_sums.h"

namespace gpuprof::record {

class WatchedWriter {
 public:
  WatchedWriter(UniqueFd fd, const std::atomic<bool>* give_up, LiveSums* live)
      : writer_(std::move(fd), give_up), live_(live) {}

  void header() { writer_.header(); }
  void add(const profile::Record& record) {
    writer_.add(record);
    if (live_ != nullptr) {
      live_->add(record);
    }
  }

  Status flush(uint64_t swept_ns) {
    if (live_ != nullptr) {
      live_->close(monotonic_ns(), swept_ns);
    }
    return writer_.flush();
  }
  [[nodiscard]] uint64_t bytes_written() const { return writer_.bytes_written(); }

 private:
  profile::Writer writer_;
  LiveSums* live_;
};

}  // namespace gpuprof::record
