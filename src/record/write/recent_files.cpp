#include "record/write/recent_files.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/hex.h"
#include "base/text/numbers.h"

namespace gpuprof::record {
namespace {

// A file waits this long for the busy times of its last slice. If they come later, the file has none.
constexpr uint64_t kWaitNs = 10'000'000'000;
// Triggers notice an event this long after its end, at most.
constexpr uint64_t kLateNs = 5'000'000'000;
constexpr unsigned kMostSnapshots = 100;

}  // namespace

std::string new_recording_id() {
  constexpr size_t kDigits = 32;
  return random_hex(kDigits);
}

RecentFiles::RecentFiles(const Options& options, uint64_t start_ns, uint64_t interval_ns, std::string name,
                         std::optional<TargetUser> owner)
    : options_(options),
      start_ns_(start_ns),
      interval_ns_(interval_ns),
      name_(std::move(name)),
      owner_(std::move(owner)),
      begin_ns_(start_ns),
      anew_ns_(options.last_ns == 0 ? UINT64_MAX : start_ns + 2 * options.last_ns) {
  if (options_.rotate_ns != 0) {
    wanted_.push_back({0, begin_ns_ + options_.rotate_ns, begin_ns_ + options_.rotate_ns + kWaitNs, ""});
  }
}

ProfileSink::Recent RecentFiles::for_sink(std::shared_ptr<MemoryBudget> memory) const {
  // A rotation drops rows when they have been written.
  const uint64_t last_ns =
      options_.rotate_ns == 0 ? options_.last_ns + options_.trigger.idle_ns + kLateNs + kWaitNs : UINT64_MAX;
  const std::string option = "--last " + duration_text(options_.last_ns);
  return {std::make_unique<RecentRows>(start_ns_, interval_ns_, last_ns, option, std::move(memory)), options_.range};
}

uint64_t RecentFiles::end_of_slice(uint64_t ns) const {
  return start_ns_ + ((ns - start_ns_) / interval_ns_ + 1) * interval_ns_;
}

void RecentFiles::want_snapshot(uint64_t now_ns, const std::string& why, uint64_t late_ns) {
  if (!wanted_.empty() && wanted_.back().until_ns > now_ns) {
    return;  // that file will have this time, too
  }
  if (number_ + wanted_.size() >= kMostSnapshots) {
    log::warn(why + ": no file is written, because " + std::to_string(kMostSnapshots) + " exist");
    return;
  }
  const uint64_t before_ns = options_.last_ns + late_ns;
  wanted_.push_back({now_ns - std::min(now_ns, before_ns), end_of_slice(now_ns), now_ns + kWaitNs, why});
}

void RecentFiles::look_at_trigger(uint64_t now_ns, const Longest& longest) {
  const bool is_idle = longest.idle_ns > options_.trigger.idle_ns;
  const bool goes_idle = is_idle && !std::exchange(was_idle_, is_idle);
  was_idle_ = is_idle;
  if (now_ns < next_trigger_ns_) {
    return;
  }
  const auto fire = [&](const char* what, uint64_t ns, uint64_t limit_ns) {
    if (limit_ns != 0 && ns > limit_ns) {
      want_snapshot(now_ns, what + duration_text(ns), kLateNs + ns);
      next_trigger_ns_ = now_ns + options_.last_ns;
    }
  };
  fire("a kernel took ", longest.kernel_ns, options_.trigger.kernel_ns);
  fire("a call waited for ", longest.wait_ns, options_.trigger.wait_ns);
  fire("a device was idle for at least ", goes_idle ? longest.idle_ns : 0, options_.trigger.idle_ns);
  fire("an NVTX range took ", longest.range_ns, options_.trigger.range_ns);
  fire("a process lags by ", longest.lag_ns, options_.trigger.lag_ns);
}

uint64_t RecentFiles::due_snapshot(uint64_t now_ns) const {
  const bool is_due = options_.last_ns != 0 && !wanted_.empty() && now_ns >= wanted_.front().until_ns;
  return is_due ? wanted_.front().until_ns : 0;
}

std::shared_ptr<Rewrite> RecentFiles::next(const Time& time) {
  if (!pending_.empty() && pending_.front().order->written.load(std::memory_order_acquire)) {
    end_pending();
  }
  if (!pending_.empty()) {
    return nullptr;
  }
  if (!wanted_.empty() && (time.swept_ns >= wanted_.front().until_ns || time.now_ns >= wanted_.front().latest_ns)) {
    const Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    if (options_.rotate_ns != 0) {
      wanted_.push_back({0, wanted.until_ns + options_.rotate_ns, wanted.latest_ns + options_.rotate_ns, ""});
    }
    return begin(wanted, time);
  }
  return time.now_ns >= anew_ns_ ? begin_anew(time.now_ns) : nullptr;
}

bool RecentFiles::open(const std::string& name, bool keep_old) {
  auto file = OutputFile::open(name, {.keep_old = keep_old, .mode = 0644, .stop = {}});
  if (!file) {
    log::warn(file.error().message, file.error().hint);
    return false;
  }
  if (owner_) {
    file->set_owner(owner_->uid, owner_->gid);
  }
  auto order = std::make_shared<Rewrite>();
  order->fd = file->take_fd();
  // Files of a rotation have no work in common, so each counts as a recording.
  order->recording = options_.rotate_ns == 0 ? "" : new_recording_id();
  pending_.push_back({std::move(*file), std::move(order), "", false});
  return true;
}

std::shared_ptr<Rewrite> RecentFiles::begin(const Wanted& wanted, const Time& time) {
  if (!open(numbered_name(name_, std::to_string(++number_)), true)) {
    return nullptr;
  }
  pending_.back().why = wanted.why;
  Rewrite& order = *pending_.back().order;
  order.from_ns = options_.rotate_ns == 0 ? wanted.from_ns : begin_ns_;
  order.forgets = options_.rotate_ns != 0;
  order.until_ns = wanted.until_ns;
  order.end_ns = time.now_ns;
  order.window_ns = time.window_ns;
  order.is_swept = time.swept_ns >= wanted.until_ns;
  return pending_.back().order;
}

std::shared_ptr<Rewrite> RecentFiles::begin_anew(uint64_t now_ns) {
  anew_ns_ = options_.last_ns == 0 ? UINT64_MAX : now_ns + options_.last_ns;
  if (!open(name_, false)) {
    return nullptr;
  }
  return current_order(now_ns, false);
}

// Gives the new file its name.
void RecentFiles::end_pending() {
  Pending done = std::move(pending_.front());
  pending_.pop_front();
  const Rewrite& order = *done.order;
  Status status = order.status;
  if (status.ok()) {
    status = done.file.commit();
  }
  if (!status) {
    log::warn(done.file.name() + ": " + status.error().message, status.error().hint);
  } else if (done.is_current) {
    current_.emplace(std::move(done.file));
  } else if (done.why.empty()) {
    begin_ns_ = order.until_ns;
    anew_ns_ = 0;
    rotated_.push_back(std::move(done.file));
    forget_oldest();
  } else {
    const uint64_t begin_ns = std::max(order.begin_ns, start_ns_);
    log::info(done.why + ": wrote " + done.file.name() + " (" +
              duration_text(order.sums.end_ns - std::min(order.sums.end_ns, begin_ns)) + ")");
  }
}

void RecentFiles::forget_oldest() {
  while (rotated_.size() > options_.keep) {
    if (Status removed = rotated_.front().remove(); !removed) {
      log::warn(removed.error().message, removed.error().hint);
    }
    rotated_.pop_front();
  }
}

std::shared_ptr<Rewrite> RecentFiles::current_order(uint64_t now_ns, bool is_complete) {
  Pending& pending = pending_.back();
  pending.is_current = true;
  pending.order->from_ns = options_.last_ns == 0 ? begin_ns_ : now_ns - std::min(now_ns, options_.last_ns);
  pending.order->is_complete = is_complete;
  return pending.order;
}

std::optional<OutputFile> RecentFiles::take_current() {
  return std::exchange(current_, std::nullopt);
}

std::vector<std::shared_ptr<Rewrite>> RecentFiles::rest(uint64_t end_ns) {
  std::vector<std::shared_ptr<Rewrite>> orders;
  for (const Wanted& wanted : wanted_) {
    if (auto order = wanted.why.empty() ? nullptr : begin(wanted, {end_ns, UINT64_MAX, 0}); order != nullptr) {
      orders.push_back(std::move(order));
    }
  }
  return orders;
}

Result<std::shared_ptr<Rewrite>> RecentFiles::last(uint64_t end_ns) {
  if (!open(name_, false)) {
    return Error{"cannot write " + name_ + " a last time", "it has what was written before"};
  }
  // A file of a rotation may not be written yet. Then the last file follows it.
  const bool rotates = options_.rotate_ns != 0 && pending_.size() > 1 && !pending_.front().is_current;
  begin_ns_ = rotates ? pending_.front().order->until_ns : begin_ns_;
  auto order = current_order(end_ns, true);
  order->end_ns = end_ns;
  return order;
}

Result<RecentFiles::Kept> RecentFiles::end() {
  while (pending_.size() > 1) {
    end_pending();
  }
  const std::shared_ptr<Rewrite> order = pending_.front().order;
  RETURN_IF_ERROR(order->status);
  current_.emplace(std::move(pending_.front().file));
  const uint64_t begin_ns = std::max(order->begin_ns, start_ns_);
  std::vector<std::string> earlier;
  for (const OutputFile& file : rotated_) {
    earlier.push_back(file.name());
  }
  return Kept{order->sums.end_ns - std::min(order->sums.end_ns, begin_ns), order->sums, order->bytes,
              std::move(earlier)};
}

}  // namespace gpuprof::record
