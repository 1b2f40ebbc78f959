#include "record/join/off_cpu.h"

#include <algorithm>

namespace gpuprof::record {
namespace {

// A target may invent threads, and each costs three reads of files per poll.
constexpr size_t kMostThreads = 4096;
constexpr size_t kMostThreadsOfSource = 256;

// Returns why the thread was blocked.
std::string_view reason_of(const gpuprof_bpf_off_cpu& off) {
  if ((off.state & GPUPROF_OFF_CPU_STOPPED) != 0) {
    return "stopped";
  }
  if ((off.state & GPUPROF_OFF_CPU_RECLAIM) != 0) {
    return "memory reclaim";
  }
  // Outside of a system call, only a fault can block a thread.
  return off.system_call == UINT32_MAX ? "page fault" : wait_of(off.system_call, (off.state & GPUPROF_OFF_CPU_IO) != 0);
}

}  // namespace

void split_off_cpu(const ThreadPoll& before, const ThreadPoll& now, const std::function<void(const OffCpu&)>& emit) {
  const uint64_t wall = now.time_ns - std::min(before.time_ns, now.time_ns);
  const uint64_t ran = std::min(wall, now.ran_ns - std::min(before.ran_ns, now.ran_ns));
  const uint64_t waited = std::min(wall - ran, now.waited_ns - std::min(before.waited_ns, now.waited_ns));
  const uint64_t blocked = wall - ran - waited;
  const std::string_view reason = now.blocked.empty() ? before.blocked : now.blocked;
  const uint64_t known_throttled = before.throttled_ns == 0 ? now.throttled_ns : before.throttled_ns;
  const uint64_t throttled = std::min(waited, now.throttled_ns - std::min(known_throttled, now.throttled_ns));
  if (throttled > 0) {
    emit({throttled, "throttled"});
  }
  if (waited > throttled) {
    emit({waited - throttled, kNoProcessor});
  }
  if (blocked > 0 && !reason.empty()) {
    emit({blocked, reason});
  }
}

void split_off_cpu(const gpuprof_bpf_off_cpu& off, const std::function<void(const OffCpuPart&)>& emit) {
  const bool was_blocked = (off.state & GPUPROF_OFF_CPU_BLOCKED) != 0;
  // If the program did not see who woke the thread, the wait for a processor counts as part of the block.
  const uint64_t woken_ns = off.woken_ns == 0 ? off.in_ns : std::clamp(off.woken_ns, off.off_ns, off.in_ns);
  const uint64_t runnable_ns = was_blocked ? woken_ns : off.off_ns;
  const uint64_t throttled_ns = runnable_ns + std::min(off.throttled_ns, off.in_ns - runnable_ns);
  const auto emit_part = [&emit](uint64_t start_ns, uint64_t end_ns, std::string_view reason, bool is_wait) {
    if (start_ns < end_ns) {
      emit({start_ns, end_ns, reason, is_wait});
    }
  };
  emit_part(off.off_ns, runnable_ns, reason_of(off), true);
  emit_part(runnable_ns, throttled_ns, "throttled", false);
  emit_part(throttled_ns, off.in_ns, kNoProcessor, false);
}

void ThreadStates::on_launch(const ThreadId& id, backend::SourceId source, NameIndex name) {
  auto entry = threads_.find(id);
  const bool is_new = entry == threads_.end();
  if (is_new || entry->second.source != source) {
    size_t& count = of_source_[source];
    if (count >= kMostThreadsOfSource || (is_new && threads_.size() >= kMostThreads)) {
      return;
    }
    ++count;
    if (is_new) {
      entry = threads_.emplace(id, Thread{}).first;
      ++version_;
    } else {
      --of_source_[entry->second.source];
    }
    entry->second.source = source;
  }
  entry->second.name = name;
}

ThreadStates::Threads::iterator ThreadStates::erase(Threads::iterator entry) {
  --of_source_[entry->second.source];
  ++version_;
  return threads_.erase(entry);
}

void ThreadStates::end_source(backend::SourceId source) {
  if (of_source_.erase(source) != 0) {
    ++version_;
    std::erase_if(threads_, [source](const auto& entry) { return entry.second.source == source; });
  }
}

const ThreadStates::Thread* ThreadStates::find(const ThreadId& id) const {
  const auto entry = threads_.find(id);
  return entry == threads_.end() ? nullptr : &entry->second;
}

void ThreadStates::erase(const ThreadId& id) {
  if (const auto entry = threads_.find(id); entry != threads_.end()) {
    erase(entry);
  }
}

std::vector<ThreadId> ThreadStates::ids() const {
  std::vector<ThreadId> ids;
  ids.reserve(threads_.size());
  for (const auto& [id, thread] : threads_) {
    ids.push_back(id);
  }
  return ids;
}

void ThreadStates::on_poll(const ThreadPolls::Result& result, uint64_t since_ns, const Use& use) {
  const auto entry = threads_.find(result.id);
  if (entry == threads_.end() || (result.poll && result.poll->time_ns < since_ns)) {
    return;
  }
  if (!result.poll) {
    erase(entry);
    return;
  }
  Thread& thread = entry->second;
  if (thread.last.time_ns < since_ns) {
    thread.last = {};
  }
  use(thread, *result.poll);
  // Linux counts a wait for a processor only when it ends. Until then, the time between the polls is not known.
  const bool is_known = !result.poll->blocked.empty() || thread.last.time_ns == 0 || !thread.last.blocked.empty() ||
                        result.poll->ran_ns != thread.last.ran_ns || result.poll->waited_ns != thread.last.waited_ns;
  thread.last = is_known ? *result.poll : thread.last;
}

}  // namespace gpuprof::record
