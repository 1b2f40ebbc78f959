#include "record/session/recorder_losses.h"

#include <utility>

namespace gpuprof::record {

void RecorderLosses::tell(const Channel& channel, const StackEngine* engine, Correlator& correlator) {
  const auto tell_growth = [&correlator](profile::LossReason reason, uint64_t& told, uint64_t now) {
    correlator.add_loss({}, reason, now - std::exchange(told, now));
  };
  if (engine != nullptr) {
    const StackLosses now = engine->losses();
    tell_growth(profile::LossReason::bpf_ring_full, engine_.launches, now.launches);
    tell_growth(profile::LossReason::bpf_stack_lost, engine_.stacks, now.stacks);
    tell_growth(profile::LossReason::stack_unreadable, engine_.unreadable, now.unreadable);
  }
  tell_growth(profile::LossReason::malformed, malformed_, channel.decode_counts().malformed);
  tell_growth(profile::LossReason::process_refused, refused_, channel.refused());
}

}  // namespace gpuprof::record
