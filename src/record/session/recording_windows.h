// Manages the windows of time in which a session records. Switches all sources on and off together. A window covers all
// the time during which targets record, even if the recorder is slow to switch them.
#pragma once

#include <cstdint>
#include <optional>

#include "record/duty_cycle.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/recording_switch.h"
#include "record/session/local_sources.h"

namespace gpuprof::record {

class RecordingWindows {
 public:
  // The references must outlive this object. `options` must be those with which the channel was opened.
  // `max_overhead` is a limit in percent of the elapsed time; 0: no limit.
  RecordingWindows(const RecordingSwitch::Options& options, double max_overhead, uint64_t start_ns, Channel& channel,
                   LocalSources& sources, Correlator& correlator);

  void update(uint64_t now_ns, const DutyCost& cost);
  // Returns the wait in milliseconds, shortened to the next switch by the duty cycle.
  [[nodiscard]] int limit_wait(int milliseconds, uint64_t now_ns) const;
  void set_by_user(bool on, uint64_t now_ns);
  void give_up();  // switches recording off for the rest of the session
  uint64_t end();

  [[nodiscard]] bool on() const { return switch_.on(); }
  [[nodiscard]] bool expired() const { return switch_.expired(); }
  [[nodiscard]] bool given_up() const { return given_up_; }
  [[nodiscard]] bool had_gaps() const { return switched_ || !switch_.on(); }

 private:
  void apply();
  void switch_on(uint64_t now_ns);
  void switch_off();
  void follow_duty(uint64_t now_ns, const DutyCost& cost);

  RecordingSwitch switch_;
  double max_overhead_;
  DutyCost cost_;
  std::optional<DutyCycle> duty_;  // with a limit, while the user wants to record
  Channel& channel_;
  LocalSources& sources_;
  Correlator& correlator_;
  bool switched_ = false;
  bool given_up_ = false;
};

}  // namespace gpuprof::record
