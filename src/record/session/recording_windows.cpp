#include "record/session/recording_windows.h"

#include "base/clock.h"
#include "base/log.h"

namespace gpuprof::record {

RecordingWindows::RecordingWindows(const RecordingSwitch::Options& options, uint64_t start_ns, Channel& channel,
                                   LocalSources& sources, Correlator& correlator)
    : switch_(options, start_ns), channel_(channel), sources_(sources), correlator_(correlator) {
  if (switch_.on()) {
    correlator_.open_window(start_ns);
    sources_.set_recording(true);
  }
}

void RecordingWindows::update(uint64_t now_ns) {
  if (switch_.update(now_ns)) {
    apply();
  }
}

void RecordingWindows::set_by_user(bool on, uint64_t now_ns) {
  if (switch_.set_by_user(on, now_ns)) {
    apply();
  }
}

void RecordingWindows::apply() {
  switched_ = true;
  if (switch_.on()) {
    correlator_.open_window(monotonic_ns());
    channel_.set_enabled(!given_up_);
    sources_.set_recording(true);
  } else {
    switch_off();
    correlator_.close_window(monotonic_ns());
  }
  log::debug(switch_.on() ? "recording is on" : "recording is off");
}

void RecordingWindows::switch_off() {
  sources_.set_recording(false);
  channel_.set_enabled(false);
}

void RecordingWindows::give_up() {
  given_up_ = true;
  channel_.disable_all();
  sources_.stop();
}

uint64_t RecordingWindows::end() {
  switch_off();
  const uint64_t end_ns = monotonic_ns();
  if (switch_.on()) {
    correlator_.close_window(end_ns);
  }
  return end_ns;
}

}  // namespace gpuprof::record
