// Writes a profile, and passes its records to the live view and to RecentRows if these exist.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "profile/writer.h"
#include "record/live/live_sums.h"
#include "record/write/recent_rows.h"

namespace gpuprof::record {

class WatchedWriter {
 public:
  // `live` and `recent` may be null.
  WatchedWriter(UniqueFd fd, const std::atomic<bool>* give_up, LiveSums* live, std::unique_ptr<RecentRows> recent)
      : give_up_(give_up), writer_(std::move(fd), give_up), live_(live), recent_(std::move(recent)) {}

  void header() { writer_.header(); }
  void add(const profile::Record& record) {
    if (recent_ == nullptr) {
      writer_.add(record);
    } else if (RecentRows::takes(record)) {
      line_.clear();
      profile::format_line(record, line_);
      writer_.add_lines(line_);
      recent_->add(record, line_, monotonic_ns());
    }
    if (live_ != nullptr) {
      live_->add(record);
    }
  }

  Status flush(uint64_t swept_ns) {
    if (live_ != nullptr) {
      live_->close(monotonic_ns(), swept_ns);
    }
    if (recent_ != nullptr) {
      recent_->forget(monotonic_ns());
    }
    return writer_.flush();
  }

  // Only with RecentRows. A failure concerns only the other file.
  void rewrite(Rewrite& order) {
    std::string text;
    recent_->write(order, text);
    profile::Writer writer(std::move(order.fd), give_up_);
    writer.add_lines(text);
    order.status = writer.flush();
    order.bytes = writer.bytes_written();
    if (!order.is_complete && order.status.ok()) {
      writer_ = std::move(writer);
    }
    if (order.forgets && order.status.ok()) {
      recent_->forget_before(order.until_ns);
    }
    order.written.store(true, std::memory_order_release);
  }
  [[nodiscard]] uint64_t bytes_written() const { return writer_.bytes_written(); }

 private:
  const std::atomic<bool>* give_up_;
  profile::Writer writer_;
  LiveSums* live_;
  std::unique_ptr<RecentRows> recent_;
  std::string line_;
};

}  // namespace gpuprof::record
