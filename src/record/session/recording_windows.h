// Manages the windows of time in which a session records. Switches all sources on and off together. A window covers all
// the time during which targets record, even if the recorder is slow to switch them.
#pragma once

#include <cstdint>

#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/recording_switch.h"
#include "record/session/local_sources.h"

namespace gpuprof::record {

class RecordingWindows {
 public:
  // The references must outlive this object. `options` must be those with which the channel was opened.
  RecordingWindows(const RecordingSwitch::Options& options, uint64_t start_ns, Channel& channel, LocalSources& sources,
                   Correlator& correlator);

  void update(uint64_t now_ns);
  void set_by_user(bool on, uint64_t now_ns);
  void give_up();  // switches recording off for the rest of the session
  uint64_t end();

  [[nodiscard]] bool on() const { return switch_.on(); }
  [[nodiscard]] bool expired() const { return switch_.expired(); }
  [[nodiscard]] bool given_up() const { return given_up_; }
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
