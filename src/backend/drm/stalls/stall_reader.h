// All streams of a recording: opened, read, opened anew after a reset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/drm/stalls/stall_stream.h"

namespace gpuprof::backend::drm {

class StallRecordSink {
 public:
  StallRecordSink() = default;
  StallRecordSink(const StallRecordSink&) = delete;
  StallRecordSink& operator=(const StallRecordSink&) = delete;
  virtual ~StallRecordSink() = default;

  // It was taken after `since_ns`: then the stream was empty.
  virtual void on_record(const StallGt& gt, const StallRecord& record, uint64_t since_ns) = 0;
  // Some records were lost; nobody says how many.
  virtual void on_dropped(const StallGt& gt) = 0;
};

class StallReader {
 public:
  // Opens a stream for each GT. The error says why there is none at all.
  static Result<StallReader> open(std::unique_ptr<StallDevices> devices, uint64_t wanted_period);

  // Takes what has come, at most kMaxReads of each stream. Never blocks.
  struct Drained {
    bool any = false;    // there was something
    bool whole = false;  // and nothing is left
  };
  Drained drain(StallRecordSink& sink, uint64_t now_ns);

  static constexpr unsigned kMaxReads = 16;  // of a stream in one turn

  struct Facts {
    uint64_t resets = 0;     // streams that a reset of the GPU has ended
    uint64_t drops = 0;      // how often records were dropped
    uint64_t malformed = 0;  // bytes that are no whole record
  };
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] uint64_t period() const { return period_; }  // cycles from one sample to the next
  // GTs that are not sampled, though others are.
  [[nodiscard]] const std::vector<Error>& refused() const { return refused_; }
  [[nodiscard]] size_t streams() const { return streams_.size(); }

 private:
  struct Open {
    StallGt gt;
    std::unique_ptr<StallStream> stream;  // null: it is to be opened again
    uint64_t next_try_ns = 0;
    unsigned tries = 0;
    uint64_t empty_ns = 0;  // when nothing was left the last time
  };
  Drained drain(Open& open, StallRecordSink& sink, uint64_t now_ns);
  void take(const Open& open, size_t bytes, StallRecordSink& sink);
  void reopen(Open& open, uint64_t now_ns);

  static constexpr size_t kBufferBytes = size_t{1} << 18;
  static constexpr uint64_t kRetryNs = 100'000'000;
  static constexpr unsigned kMaxTries = 600;

  explicit StallReader(std::unique_ptr<StallDevices> devices)
      : devices_(std::move(devices)), buffer_(std::make_unique<std::array<std::byte, kBufferBytes>>()) {}

  std::unique_ptr<StallDevices> devices_;
  std::unique_ptr<std::array<std::byte, kBufferBytes>> buffer_;
  std::vector<Open> streams_;
  std::vector<Error> refused_;
  Facts facts_;
  uint64_t period_ = 0;
};

}  // namespace gpuprof::backend::drm
