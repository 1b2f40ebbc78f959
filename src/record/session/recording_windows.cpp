#include "record/session/recording_windows.h"

#include <algorithm>
#include <random>

#include "base/clock.h"
#include "base/log.h"

namespace gpuprof::record {

RecordingWindows::RecordingWindows(const RecordingSwitch::Options& options, double max_overhead, uint64_t start_ns,
                                   Channel& channel, LocalSources& sources, Correlator& correlator)
    : switch_(options, start_ns),
      max_overhead_(max_overhead),
      channel_(channel),
      sources_(sources),
      correlator_(correlator) {
  if (switch_.on()) {
    switch_on(start_ns);
  } else {
    channel_.set_wanted(false);
  }
}

void RecordingWindows::update(uint64_t now_ns, const DutyCost& cost) {
  cost_ = cost;
  if (switch_.update(now_ns)) {
    apply();
  } else if (duty_ && !given_up_ && now_ns >= duty_->next_ns()) {
    follow_duty(now_ns, cost);
  }
}

int RecordingWindows::limit_wait(int milliseconds, uint64_t now_ns) const {
  if (!duty_) {
    return milliseconds;
  }
  const uint64_t left = duty_->next_ns() > now_ns ? duty_->next_ns() - now_ns : 0;
  return static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(milliseconds), left / 1'000'000));
}

void RecordingWindows::set_by_user(bool on, uint64_t now_ns) {
  if (!on && switch_.is_delayed()) {
    log::info("SIGUSR2 has cancelled --delay: recording starts when gpuprof receives SIGUSR1");
  }
  if (switch_.set_by_user(on, now_ns)) {
    apply();
  }
}

void RecordingWindows::apply() {
  switched_ = true;
  if (switch_.on()) {
    switch_on(monotonic_ns());
  } else {
    switch_off();
  }
  log::debug(switch_.on() ? "recording is on" : "recording is off");
}

void RecordingWindows::switch_on(uint64_t now_ns) {
  if (max_overhead_ > 0) {
    duty_.emplace(max_overhead_, std::random_device()(), now_ns, cost_);
  }
  channel_.set_wanted(true);
  correlator_.open_window(now_ns, 1);
  channel_.set_enabled(!given_up_);
  sources_.set_recording(true);
}

// A window of the duty cycle does not become longer because the recorder is late.
void RecordingWindows::switch_off() {
  sources_.set_recording(false);
  channel_.set_enabled(false);
  const uint64_t now_ns = monotonic_ns();
  correlator_.close_window(duty_ ? std::min(now_ns, duty_->window().end_ns) : now_ns);
  duty_.reset();
  channel_.set_wanted(false);
}

void RecordingWindows::follow_duty(uint64_t now_ns, const DutyCost& cost) {
  const bool was_on = duty_->on();
  const profile::Window before = duty_->window();
  duty_->update(now_ns, cost);
  const bool on = duty_->on();
  const profile::Window& window = duty_->window();
  if (on != was_on) {
    sources_.set_recording(on);
    channel_.set_enabled(on);
  }
  // Windows that follow each other and have the same weight are one window.
  const bool goes_on = was_on && on && window.weight == before.weight;
  if (was_on && !goes_on) {
    correlator_.close_window(before.end_ns);
  }
  if (on && !goes_on) {
    correlator_.open_window(window.start_ns, window.weight);
  }
}

void RecordingWindows::give_up() {
  given_up_ = true;
  channel_.disable_all();
  sources_.stop();
}

uint64_t RecordingWindows::end() {
  const bool was_on = switch_.on();
  const uint64_t end_ns = monotonic_ns();
  if (was_on) {
    switch_off();
  }
  return end_ns;
}

}  // namespace gpuprof::record
