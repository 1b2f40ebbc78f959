// The windows of time in which a session records: whoever records is switched on and off together. A window holds all
// of the time in which targets record, also where we are held up in between.
#pragma once

#include <cstdint>

#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/recording_switch.h"
#include "record/session/local_sources.h"

namespace gpuprof::record {

class RecordingWindows {
 public:
  // All of it lives longer. The channel has been opened as `options` say.
  RecordingWindows(const RecordingSwitch::Options& options, uint64_t start_ns, Channel& channel, LocalSources& sources,
                   Correlator& correlator);

  void update(uint64_t now_ns);         // as time goes by
  void turn(bool on, uint64_t now_ns);  // by hand
  void give_up();                       // nobody records again
  // Returns when the last window ended.
  uint64_t end();

  [[nodiscard]] bool on() const { return switch_.on(); }
  [[nodiscard]] bool expired() const { return switch_.expired(); }
  [[nodiscard]] bool given_up() const { return given_up_; }
  // Recording was off for some of the time.
  [[nodiscard]] bool had_gaps() const { return switched_ || !switch_.on(); }

 private:
  void apply();
  void switch_off();

  RecordingSwitch switch_;
  Channel& channel_;
  LocalSources& sources_;
  Correlator& correlator_;
  bool switched_ = false;
  bool given_up_ = false;
};

}  // namespace gpuprof::record
