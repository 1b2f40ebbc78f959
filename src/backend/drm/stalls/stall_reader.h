// Opens and reads all streams of a recording. Opens them again after a reset of the GPU.
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

  // Reports one record. Its samples were taken after `since_ns`, when the stream was empty.
  virtual void on_record(const StallGt& gt, const StallRecord& record, uint64_t since_ns) = 0;
  // Reports that records were lost. Their number is unknown.
  virtual void on_dropped(const StallGt& gt) = 0;
};

class StallReader {
 public:
  // Opens a stream for each GT. If none can be opened, fails with the reason.
  static Result<StallReader> open(std::unique_ptr<StallDevices> devices, uint64_t wanted_period);

  // The result of drain(), which reads new records with at most kMaxReads read() calls per stream, and never blocks.
  struct Drained {
    bool any = false;
    bool whole = false;  // all new records were read
  };
  Drained drain(StallRecordSink& sink, uint64_t now_ns);

  static constexpr unsigned kMaxReads = 16;  // read() calls per stream and poll iteration

  struct Facts {
    uint64_t resets = 0;
    uint64_t drops = 0;      // how often records were dropped
    uint64_t malformed = 0;  // bytes that were not a complete record
  };
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] uint64_t period() const { return period_; }
  [[nodiscard]] const std::vector<Error>& refused() const { return refused_; }  // why some GTs are not sampled
  [[nodiscard]] size_t streams() const { return streams_.size(); }

 private:
  struct Open {
    StallGt gt;
    std::unique_ptr<StallStream> stream;  // null: the stream must be opened again
    uint64_t next_try_ns = 0;
    unsigned tries = 0;
    uint64_t empty_ns = 0;
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
