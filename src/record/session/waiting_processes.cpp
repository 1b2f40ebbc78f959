#include "record/session/waiting_processes.h"

#include "base/clock.h"
#include "record/session/timing.h"

namespace gpuprof::record {

void WaitingProcesses::update(Channel& channel, const ProcessFeed* feed, Correlator& correlator) {
  const uint64_t now = monotonic_ns();
  for (const backend::SourceId source : channel.take_waiting()) {
    held_.push_back({source, feed != nullptr ? feed->put_so_far() : 0, now + kHoldNs});
  }
  const uint64_t taken = feed != nullptr ? feed->taken() : UINT64_MAX;
  std::erase_if(held_, [&](const Held& held) {
    const bool ready = taken >= held.after;
    if (!ready && now < held.until_ns) {
      return false;
    }
    if (!ready) {
      correlator.on_tables_late(held.source);
    }
    channel.release(held.source);
    return true;
  });
}

}  // namespace gpuprof::record
