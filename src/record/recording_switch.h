// Decides when recording is on: after a delay, for a duration, and by signals.
#pragma once

#include <cstdint>

namespace gpuprof::record {

class RecordingSwitch {
 public:
  struct Options {
    uint64_t delay_ns = 0;  // from the start of the session to the first start of recording
    // How long recording stays on after each start; 0: until the session ends.
    uint64_t duration_ns = 0;
    // True: recording stays off until set_by_user() switches it on.
    bool paused = false;
  };

  RecordingSwitch(const Options& options, uint64_t start_ns);

  [[nodiscard]] bool on() const { return on_; }
  // Returns whether the duration has elapsed after at least one start of recording.
  [[nodiscard]] bool expired() const { return expired_; }

  // Returns whether recording is off until the delay has elapsed.
  [[nodiscard]] bool is_delayed() const { return !on_ && change_ns_ != UINT64_MAX; }

  // Switches recording on or off. Before the delay has elapsed, this cancels the delay. Returns whether on() changed.
  bool set_by_user(bool on, uint64_t now_ns);
  // Switches recording if the delay or the duration has elapsed. Returns whether on() changed.
  bool update(uint64_t now_ns);

 private:
  bool set(bool on, uint64_t now_ns);

  uint64_t duration_ns_;
  bool on_ = false;
  bool expired_ = false;
  uint64_t change_ns_ = UINT64_MAX;  // time of the next automatic switch
};

}  // namespace gpuprof::record
