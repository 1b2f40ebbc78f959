#include "record/recording_switch.h"

namespace gpuprof::record {

RecordingSwitch::RecordingSwitch(const Options& options, uint64_t start_ns) : duration_ns_(options.duration_ns) {
  if (options.paused) {
    return;
  }
  if (options.delay_ns == 0) {
    set(true, start_ns);
  } else {
    change_ns_ = start_ns + options.delay_ns;
  }
}

bool RecordingSwitch::set(bool on, uint64_t now_ns) {
  const bool changed = on != on_;
  on_ = on;
  if (changed || !on) {
    change_ns_ = on && duration_ns_ != 0 ? now_ns + duration_ns_ : UINT64_MAX;
  }
  return changed;
}

bool RecordingSwitch::set_by_user(bool on, uint64_t now_ns) {
  return set(on, now_ns);
}

bool RecordingSwitch::update(uint64_t now_ns) {
  if (now_ns < change_ns_) {
    return false;
  }
  expired_ = expired_ || on_;
  // After a delay, the duration counts from now_ns, even if this call is late.
  return set(!on_, now_ns);
}

}  // namespace gpuprof::record
