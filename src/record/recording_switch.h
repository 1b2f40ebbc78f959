// When recording is on: after a delay, for a duration, and as signals say.
#pragma once

#include <cstdint>

namespace gpuprof::record {

class RecordingSwitch {
 public:
  struct Options {
    uint64_t delay_ns = 0;     // from the start on
    uint64_t duration_ns = 0;  // of recording, from each switching on; 0: to the end
    bool paused = false;       // off until turn() says otherwise
  };

  RecordingSwitch(const Options& options, uint64_t start_ns);

  [[nodiscard]] bool on() const { return on_; }
  // A stretch of the given duration has ended.
  [[nodiscard]] bool expired() const { return expired_; }

  // By hand, whatever the delay. True: that changed on().
  bool turn(bool on, uint64_t now_ns);
  // As time goes by. True: that changed on().
  bool update(uint64_t now_ns);

 private:
  bool set(bool on, uint64_t now_ns);

  uint64_t duration_ns_;
  bool on_ = false;
  bool expired_ = false;
  uint64_t change_ns_ = UINT64_MAX;  // when it turns by itself
};

}  // namespace gpuprof::record
