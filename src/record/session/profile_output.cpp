#include "record/session/profile_output.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "reader/remote_names.h"
#include "record/process/profiler_libraries.h"
#include "record/write/output_name.h"

namespace gpuprof::record {
namespace {

constexpr size_t kMaxRows = 200'000;  // a batch with this many rows is written early
// If this many batches wait for a slow disk, the next batch grows until one has been written.
constexpr size_t kMaxBatches = 4;
// A snapshot waits this long for what targets still hold. Together with a slice of 1 s, it is there after 2 s.
constexpr uint64_t kHurryNs = 700'000'000;

}  // namespace

Status ProfileOutput::open(const std::string& name, const std::optional<TargetUser>& owner, bool must_be_file) {
  auto file = open_profile_file(name);
  if (!file) {
    return std::move(file).error();
  }
  file_.emplace(std::move(*file));
  if (must_be_file && !file_->is_regular()) {
    return Error{"record: --last and --rotate write files anew, but " + file_->name() + " is no regular file",
                 "name one with -o FILE", kExitUsage};
  }
  if (owner) {
    file_->set_owner(owner->uid, owner->gid);
  }
  return {};
}

void ProfileOutput::take_name(bool rotates) {
  if (const Status named = file_->commit(); !named) {
    log::warn(named.error().message, named.error().hint);
  }
  if (rotates) {
    file_->set_aside_numbered(is_rotated_part);
  }
}

void ProfileOutput::begin(const backend::Backends& backends, LiveSums* live, std::unique_ptr<RecentFiles> recent) {
  recent_ = std::move(recent);
  const auto names = [memory = memory_](symbolize::ReadingBudget& budget) -> std::unique_ptr<symbolize::FileNames> {
    const auto count = [memory](int64_t change) { memory->add_elsewhere(change); };
    return std::make_unique<reader::RemoteNames>(reader::Process::Options{.memory = count}, budget);
  };
  sink_ = std::make_unique<ProfileSink>(file_->take_fd(), ProfilerLibraries::of(backends), memory_, live, names,
                                        recent_ == nullptr ? ProfileSink::Recent() : recent_->for_sink(memory_));
}

void ProfileOutput::write(Correlator& correlator, const Channel& channel, const StackEngine* engine) {
  const auto add_growth = [&correlator](profile::LossReason reason, uint64_t& written, uint64_t now) {
    correlator.add_loss({}, reason, now - std::exchange(written, now));
  };
  if (engine != nullptr) {
    const StackLosses now = engine->losses();
    add_growth(profile::LossReason::bpf_ring_full, engine_.launches, now.launches);
    add_growth(profile::LossReason::bpf_stack_lost, engine_.stacks, now.stacks);
    add_growth(profile::LossReason::stack_unreadable, engine_.unreadable, now.unreadable);
  }
  add_growth(profile::LossReason::malformed, malformed_, channel.decode_counts().malformed);
  add_growth(profile::LossReason::process_refused, refused_, channel.refused());
  Batch batch = correlator.take_batch();
  swept_ns_ = std::max(swept_ns_, batch.idle_until_ns);
  sink_->put(std::move(batch));
  next_ns_ = monotonic_ns() + write_ns_;
}

bool ProfileOutput::hurry_snapshot(uint64_t now_ns, Correlator& correlator, Channel& channel) {
  const uint64_t until_ns = recent_ == nullptr ? 0 : recent_->due_snapshot(now_ns);
  if (until_ns == 0) {
    return false;
  }
  if (until_ns != hurry_.until_ns) {
    hurry_ = {.until_ns = until_ns, .latest_ns = now_ns + kHurryNs};
    channel.request_flush();
    return false;
  }
  // What a target sent before it reported the flush has been read only in the next poll iteration.
  const bool has_arrived = hurry_.is_flushed || now_ns >= hurry_.latest_ns;
  hurry_.is_flushed = channel.all_flushed();
  if (!has_arrived || hurry_.is_done) {
    return false;
  }
  correlator.sweep_early(until_ns);
  hurry_.is_done = true;
  return true;
}

void ProfileOutput::write_if_due(uint64_t now_ns, Correlator& correlator, Channel& channel, const StackEngine* engine) {
  const size_t may_wait = memory_->is_limited() ? 1 : kMaxBatches;
  if ((hurry_snapshot(now_ns, correlator, channel) || now_ns >= next_ns_ || correlator.rows_waiting() > kMaxRows) &&
      sink_->waiting() < may_wait) {
    write(correlator, channel, engine);
  }
  if (recent_ != nullptr) {
    follow_recent(now_ns, correlator);
  }
}

Longest ProfileOutput::take_longest(Correlator& correlator) {
  Longest longest = sink_->take_longest();
  longest.idle_ns = correlator.take_longest_gap();
  return longest;
}

void ProfileOutput::follow_recent(uint64_t now_ns, Correlator& correlator) {
  recent_->look_at_trigger(now_ns, take_longest(correlator));
  Batch batch;
  batch.rewrite = recent_->next({now_ns, swept_ns_, correlator.open_window_ns()});
  if (batch.rewrite != nullptr) {
    sink_->put(std::move(batch));
  }
  if (auto current = recent_->take_current()) {
    file_.emplace(std::move(*current));
  }
}

Status ProfileOutput::finish_recent(Batch last, Correlator& correlator, Signals& signals, bool soon) {
  recent_->look_at_trigger(last.end->end_ns, take_longest(correlator));
  for (auto& rest : recent_->rest(last.end->end_ns)) {
    Batch batch;
    batch.rewrite = std::move(rest);
    sink_->put(std::move(batch));
  }
  auto order = recent_->last(last.end->end_ns);
  last.rewrite = order ? *order : nullptr;
  sink_->put(std::move(last));
  RETURN_IF_ERROR(sink_->finish(signals, soon));
  RETURN_IF_ERROR(order);
  auto kept = recent_->end();
  RETURN_IF_ERROR(kept);
  kept_ = *kept;
  file_.emplace(std::move(*recent_->take_current()));
  return {};
}

Status ProfileOutput::finish(Correlator& correlator, uint64_t end_ns, Signals& signals, bool soon) {
  const Totals& totals = correlator.totals();
  // Launches that are only counted have no coverage.
  const uint64_t covered = totals.coverage[profile::CoverageCount::launches];
  Batch last;
  last.end = profile::End{.end_ns = end_ns,
                          .launches = covered != 0 ? covered : totals.launches,
                          .gpu_records = totals.gpu_records,
                          .gpu_ns = totals.gpu_ns,
                          .with_stack = totals.with_stack,
                          .samples = totals.samples,
                          .lost = totals.lost_in_all()};
  if (recent_ != nullptr) {
    return finish_recent(std::move(last), correlator, signals, soon);
  }
  sink_->put(std::move(last));
  return sink_->finish(signals, soon);
}

}  // namespace gpuprof::record
