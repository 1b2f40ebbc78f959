#include "record/bpf/process_feed.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace gpuprof::record {

ProcessFeed::ProcessFeed(ProcessListener& engine)
    : engine_(engine), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { loop(); }) {}

ProcessFeed::~ProcessFeed() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_one();
  }
  engine_.end_soon();
  thread_.join();
}

void ProcessFeed::put(std::vector<ProcessEvent> events) {
  if (events.empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (ProcessEvent& one : events) {
    add(std::move(one));
  }
  changed_.notify_one();
}

void ProcessFeed::add(ProcessEvent event) {
  ++put_;
  const auto [entry, made] = pending_.try_emplace(event.pid);
  Pending& pending = entry->second;
  if (made) {
    pending.first = put_;
    queue_.push_back(event.pid);
  }
  switch (event.what) {
    case ProcessEvent::What::mapped:
      pending.maps = std::move(event.maps);
      engine_.expect_process(event.pid, pending.ended);
      break;
    case ProcessEvent::What::python:
      pending.python = event.layout;
      break;
    case ProcessEvent::What::ended:
      pending.ended = true;
      pending.python.reset();
      pending.maps.reset();
      break;
  }
}

uint64_t ProcessFeed::taken() const {
  const std::lock_guard lock(mutex_);
  const uint64_t oldest = delivering_ != 0 ? delivering_
                          : queue_.empty() ? put_ + 1
                                           : pending_.at(queue_.front()).first;
  return oldest - 1;
}

void ProcessFeed::clear_fd() const {
  uint64_t count = 0;
  (void)!::read(event_.get(), &count, sizeof(count));
}

void ProcessFeed::tell(uint32_t pid, const Pending& pending) {
  if (pending.ended) {
    engine_.on_process_end(pid);
  }
  if (pending.python) {
    engine_.on_python(pid, *pending.python);
  }
  if (pending.maps) {
    engine_.on_process(*pending.maps);
  }
}

void ProcessFeed::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) {
      return;
    }
    const uint32_t pid = queue_.front();
    queue_.pop_front();
    const Pending pending = std::move(pending_.extract(pid).mapped());
    delivering_ = pending.first;
    lock.unlock();
    tell(pid, pending);
    lock.lock();
    delivering_ = 0;
    const uint64_t one = 1;
    (void)!::write(event_.get(), &one, sizeof(one));
  }
}

}  // namespace gpuprof::record
