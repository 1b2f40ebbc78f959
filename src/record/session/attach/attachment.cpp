#include "record/session/attach/attachment.h"

#include <utility>

#include "base/log.h"
#include "base/text/hints.h"
#include "record/attach/inject_checks.h"
#include "record/attach/traced_identity.h"
#include "record/process/ancestry.h"
#include "record/session/local_sources.h"
#include "record/session/timing.h"
#include "record/signals.h"

namespace gpuprof::record {
namespace {

// Lists the given options that have no effect if launches are only counted. `has_times`: another source has GPU times.
std::string without_library(const SessionOptions& options, bool has_times) {
  std::string text;
  const auto add = [&text](bool given, const char* option) {
    text.append(!given || text.empty() ? "" : ", ").append(given ? option : "");
  };
  add(options.timeline && !has_times, "--timeline");
  add(options.latency && !has_times, "--latency");
  add(options.sampling.samples && !has_times, "--pc-sampling");
  add(options.sampling.counts() && !has_times, "--sass-metrics");
  add(!options.nvtx_range.empty(), "--nvtx-range");
  add(options.cpu_hz != 0, "--cpu");
  add(options.has_duty_cycle() && !has_times, "--max-overhead");
  return text;
}

}  // namespace

Attachment::Attachment(uint32_t pid) : pid_(pid) {
  if (auto guard = pid == 0 ? Error{} : ProcessGuard::of_process(static_cast<pid_t>(pid))) {
    guard_ = std::make_shared<ProcessGuard>(std::move(*guard));
  }
}

Status Attachment::begin(const SessionOptions& options, const backend::Backends& backends, Channel& channel,
                         StackSetup& stacks) {
  auto who = TracedIdentity::of(pid_);
  if (!who) {
    return std::move(who).error();
  }
  if (!guard_) {  // the process was started after this one had been chosen
    return Error{"no process " + std::to_string(pid_), hints::kNameLiveProcess};
  }
  const auto stop = [&who] { return pending_stop() != 0 || who->has_ended(); };
  const Status reachable = channel.prepare(*guard_);
  auto injection = reachable ? attach_by_injection(*who, backends, {channel.socket_name(), channel.token(), stop})
                             : Result<Injection>(reachable.error());
  if (injection) {
    injection_ = std::move(*injection);
    // By default, the injection library walks the stacks. A stack engine exists only if --stacks requests one.
    return stacks.engine ? stacks.engine->attach_library(injection_->path) : Status();
  }
  const Error& why = injection.error();
  if (pending_stop() != 0) {
    return Error{
        "gpuprof was ended by a signal before process " + std::to_string(pid_) + " could be recorded: " + why.message,
        why.hint};
  }
  if (Status same = who->check(); !same) {
    return same;
  }
  Status counted = check_readable(pid_);
  if (counted) {
    counted = count(why, options, backends, channel, stacks);
  }
  if (!counted && LocalSources::are_in(backends)) {
    log::warn("gpuprof records only what this machine's GPU drivers report: " + counted.error().message,
              counted.error().hint);
    return {};
  }
  return counted;
}

Status Attachment::count(const Error& why, const SessionOptions& options, const backend::Backends& backends,
                         Channel& channel, StackSetup& stacks) {
  if (!stacks.engine) {
    auto counting = choose_counting(options.stacks, why);
    if (!counting) {
      return std::move(counting).error();
    }
    stacks = std::move(*counting);
    channel.set_stacks(false, false);
  }
  auto probes = attach_launch_functions(pid_, backends, *stacks.engine);
  if (!probes) {
    return std::move(probes).error();
  }
  probes_ = std::move(*probes);
  counts_only_ = why.message;
  log::warn("launches are only counted, without GPU times: " + why.message, why.hint);
  if (const std::string ignored = without_library(options, LocalSources::are_in(backends)); !ignored.empty()) {
    log::warn("no effect without gpuprof's library in the process: " + ignored,
              "start the program with gpuprof record -- COMMAND");
  }
  return {};
}

std::vector<std::string> Attachment::functions() const {
  std::vector<std::string> names;
  for (const LaunchProbe& probe : probes_) {
    names.push_back(probe.function);
  }
  return names;
}

bool Attachment::count_child(pid_t pid, bool uses_library, Correlator& correlator, StackEngine* engine) {
  if (probes_.empty() || engine == nullptr || !guard_) {
    return false;
  }
  const auto id = static_cast<uint32_t>(pid);
  if (uses_library) {
    const auto child = children_.find(pid);
    // For root, state() calls a process of root unchanged for good. So compare the users, too.
    const auto now = ProcessGuard::of_process(pid);
    if (child == children_.end() || child->second->state() != ProcessGuard::State::same || !now ||
        now->credentials().uid != guard_->credentials().uid) {
      engine->count_child(id, false);  // it has other rights now, or has ended
      log::debug("not counting child process " + std::to_string(pid));
      return false;
    }
    correlator.prepare_counted(id);
    return true;
  }
  if (!can_count_children_) {
    const Status probed = attach_probes(probes_, 0, *engine);
    can_count_children_ = probed.ok();
    if (!probed) {
      log::warn("launches of child processes are not counted: " + probed.error().message, probed.error().hint);
    }
  }
  if (!*can_count_children_) {
    return false;
  }
  // The guard comes first: as long as its process lives, no other one has the pid.
  auto guard = ProcessGuard::of_process(pid);
  if (!guard || guard->credentials().uid != guard_->credentials().uid ||
      !descends_from(pid, static_cast<pid_t>(pid_)) || guard->has_ended()) {
    return false;
  }
  auto child = std::make_shared<ProcessGuard>(std::move(*guard));
  correlator.on_counted_process(id, child);
  engine->expect_process(id, true);
  if (!engine->count_child(id, true)) {
    return false;
  }
  log::debug("counting the launches of child process " + std::to_string(pid));
  children_.insert_or_assign(pid, std::move(child));
  return true;
}

void Attachment::leave_ended_children(StackEngine* engine) {
  std::erase_if(children_, [engine](const auto& child) {
    const bool ended = child.second->has_ended();
    if (ended && engine != nullptr) {
      engine->count_child(static_cast<uint32_t>(child.first), false);
    }
    return ended;
  });
}

ExpectedCallers Attachment::expected_callers(const std::optional<TargetUser>& user) const {
  const auto attached = static_cast<pid_t>(pid_);
  if (attached == 0) {
    return {.user = user ? std::optional<uid_t>(user->uid) : std::nullopt};
  }
  return {.user = guard_ ? std::optional<uid_t>(guard_->credentials().uid) : std::nullopt, .ancestor = attached};
}

void Attachment::add_poll_fd(std::vector<pollfd>& fds) const {
  if (guard_) {
    fds.push_back({guard_->pidfd(), POLLIN, 0});
  }
}

bool Attachment::has_ended() const {
  return !guard_ || guard_->has_ended();
}

void Attachment::leave(PollIteration& iteration) const {
  if (injection_ && !iteration.retract_libraries()) {
    log::info("the injection library will detach from process " + std::to_string(pid_) +
              " at the process's next call of the GPU runtime");
  }
}

void Attachment::warn_if_not_connected(uint64_t since_ns, uint64_t now_ns) {
  if (injection_ && !said_not_connected_ && now_ns > since_ns + kConnectWaitNs) {
    said_not_connected_ = true;
    log::warn("the library was injected into process " + std::to_string(pid_) + ", but has not connected yet",
              "gpuprof doctor shows what can be used on this machine");
  }
}

}  // namespace gpuprof::record
