#include "record/session/poll_iteration.h"

#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "record/session/timing.h"

namespace gpuprof::record {

PollIteration::PollIteration(Channel& channel, LocalSources& sources, Correlator& correlator, StackEngine* engine,
                             OffCpuEngine* off_cpu, MemoryBudget& memory)
    : channel_(channel),
      sources_(sources),
      correlator_(correlator),
      memory_(memory),
      engine_(engine),
      off_cpu_(off_cpu) {
  if (engine_ != nullptr) {
    feed_ = std::make_unique<ProcessFeed>(*engine_);
  }
}

// An iteration that reads work must also read the work's launch, which is older. Hence the order: read the local
// sources, take a snapshot of the rings' heads, read the stack engine, then read the rings up to the snapshot.
size_t PollIteration::take() {
  channel_.accept_all(correlator_);
  feed_engine();
  ever_connected_ = ever_connected_ || channel_.live_sources() > 0;
  const size_t events = sources_.drain() + drain_off_cpu();
  channel_.snapshot();
  if (engine_ != nullptr) {
    engine_->drain(correlator_);
  }
  const size_t bytes = channel_.drain(correlator_);
  correlator_.end_iteration();
  memory_.look();
  forget_stacks();
  return events + bytes;
}

size_t PollIteration::drain_off_cpu() {
  if (off_cpu_ == nullptr) {
    return 0;
  }
  const size_t bytes = off_cpu_->drain(correlator_);
  if (const uint64_t lost = off_cpu_->counts().lost; lost != std::exchange(off_cpu_lost_, lost)) {
    correlator_.on_off_cpu_lost();
  }
  return bytes;
}

void PollIteration::forget_stacks() {
  const auto ended = correlator_.take_ended_stacks();
  if (engine_ != nullptr && !ended.empty()) {
    engine_->forget(ended);
  }
  if (off_cpu_ != nullptr && !ended.empty()) {
    off_cpu_->forget(ended);
  }
}

// Passes process events to the engine. A new process waits in its handshake until the engine is ready, for at most
// kHoldNs.
void PollIteration::feed_engine() {
  for (const uint32_t pid : sources_.take_outdated()) {
    correlator_.on_loader(pid);
  }
  for (const uint32_t pid : off_cpu_ == nullptr ? std::vector<uint32_t>() : off_cpu_->take_outdated()) {
    correlator_.on_loader(pid);
  }
  auto events = correlator_.take_process_events();
  sources_.put(events);
  if (off_cpu_ != nullptr) {
    off_cpu_->feed().clear_fd();
    off_cpu_->put(events);
  }
  if (feed_) {
    feed_->clear_fd();
    feed_->put(std::move(events));
  }
  held_.update(channel_, feed_ || off_cpu_ == nullptr ? feed_.get() : &off_cpu_->feed(), correlator_);
}

void PollIteration::add_poll_fds(std::vector<pollfd>& fds) const {
  if (feed_) {
    fds.push_back({feed_->fd(), POLLIN, 0});
  }
  if (off_cpu_ != nullptr) {
    fds.push_back({off_cpu_->feed().fd(), POLLIN, 0});
  }
  channel_.add_poll_fds(fds);
}

void PollIteration::leave_engine() {
  feed_.reset();
  engine_ = nullptr;
}

void PollIteration::take_until(bool (Channel::*done)() const, uint64_t wait_ns) {
  const uint64_t until = monotonic_ns() + wait_ns;
  while (channel_.live_sources() > 0 && !(channel_.*done)() && monotonic_ns() < until) {
    ::usleep(kBusyPollMs * 1000);
    take();
  }
}

void PollIteration::flush_targets() {
  channel_.request_flush();
  take_until(&Channel::all_flushed, kFlushWaitNs);
}

bool PollIteration::retract_libraries() {
  channel_.request_retract();
  take_until(&Channel::all_retracted, kRetractWaitNs);
  return channel_.all_retracted();
}

}  // namespace gpuprof::record
