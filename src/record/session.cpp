#include "record/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "backend/backend.h"
#include "base/log.h"
#include "base/output_file.h"
#include "record/attach/attach.h"
#include "record/attach/traced_identity.h"
#include "record/bpf/process_feed.h"
#include "record/held_processes.h"
#include "record/ipc/channel.h"
#include "record/ipc/overhead_limiter.h"
#include "record/join/correlator.h"
#include "record/memory_budget.h"
#include "record/recording_switch.h"
#include "record/session_meta.h"
#include "record/signals.h"
#include "record/stack_choice.h"
#include "record/summary.h"
#include "record/target/environment.h"
#include "record/target/library_dir.h"
#include "record/target/target_user.h"
#include "record/write/output_name.h"
#include "record/write/profile_sink.h"
#include "wire/wire.h"

namespace gpuprof::record {
namespace {

constexpr int kBusyPollMs = 2;
constexpr int kIdlePollMs = 20;
constexpr size_t kMaxRows = 200'000;                 // then a batch is written before its time
constexpr uint64_t kFlushWaitNs = 2'000'000'000;     // for targets that live on when we stop
constexpr uint64_t kWriteIntervalNs = 500'000'000;   // at most so much is lost when gpuprof is killed
constexpr size_t kMaxBatches = 4;                    // that wait for a slow disk; further work is aggregated meanwhile
constexpr uint64_t kLingerNs = 2'000'000'000;        // for children of the ended command that have not connected yet
constexpr uint64_t kSignalMemoryNs = 5'000'000'000;  // a signal after a longer time does not insist on the last one
constexpr uint64_t kRetractWaitNs = 3'000'000'000;   // for a library to leave a process that we have attached to
constexpr uint64_t kConnectWaitNs = 10'000'000'000;  // for it to connect, before the user is told that it has not

class Session {
 public:
  Session(const SessionOptions& options, Signals& signals, std::optional<rlimit> file_limit)
      : options_(options), signals_(signals), file_limit_(file_limit), default_signals_(ignore_write_signals()) {}

  Result<SessionResult> run() {
    for (const auto step : {&Session::open_target_user, &Session::open_stacks, &Session::open_channel,
                            &Session::open_profile, &Session::open_sources, &Session::start}) {
      if (auto status = (this->*step)(); !status) {
        return std::move(status).error();
      }
    }
    loop();
    return finish();
  }

 private:
  Status open_target_user() {
    auto user = find_user(options_.user);
    if (!user) {
      return std::move(user).error();
    }
    user_ = std::move(*user);
    return {};
  }

  Status open_stacks() {
    auto stacks = choose_stacks(options_.stacks);
    if (!stacks) {
      return std::move(stacks).error();
    }
    stacks_ = std::move(*stacks);
    tell_if_root_is_not_needed();
    return {};
  }

  // Root beside strangers is a risk that nobody should take for nothing.
  void tell_if_root_is_not_needed() const {
    if (::geteuid() == 0 && options_.attach_pid == 0 && !user_ && !stacks_.engine) {
      log::info("root is not needed to record a command of your own; with sudo, --user NAME runs it as that user");
    }
  }

  Status open_channel() {
    auto channel = Channel::open({.launch_records = stacks_.engine == nullptr,
                                  .stacks = stacks_.in_process,
                                  .hold = stacks_.by_tables(),
                                  .enabled = !options_.recording.paused && options_.recording.delay_ns == 0,
                                  .calls = options_.timeline,
                                  .latency = options_.latency,
                                  .whole_graphs = options_.whole_graphs,
                                  .attached = options_.attach_pid != 0,
                                  .max_overhead = options_.max_overhead,
                                  .nvtx_range = options_.nvtx_range,
                                  .expected = expected_callers(),
                                  .memory = memory_});
    if (!channel) {
      return std::move(channel).error();
    }
    channel_ = std::move(*channel);
    return {};
  }

  [[nodiscard]] ExpectedCallers expected_callers() const {
    const auto attached = static_cast<pid_t>(options_.attach_pid);
    if (attached == 0) {
      return {.user = user_ ? std::optional<uid_t>(user_->uid) : std::nullopt};
    }
    const auto process = ProcessGuard::of_process(attached);
    return {.user = process ? std::optional<uid_t>(process->credentials().uid) : std::nullopt, .ancestor = attached};
  }

  Status prepare_injection() {
    auto directory = LibraryDir::make();
    if (!directory) {
      return std::move(directory).error();
    }
    libraries_ = std::make_unique<LibraryDir>(std::move(*directory));
    env_.variables = target_environment(own_environment(), user_, options_.preserve_environment);
    if (env_.get(GPUPROF_ENV_SOCKET) != nullptr) {
      return Error{"this command is already being recorded by another gpuprof",
                   "record it from the outside only: two recorders would count everything twice"};
    }
    env_.library_dir = libraries_->path();
    channel_->prepare(env_);
    for (const auto& backend : backends_) {
      const auto library = backend->library();
      if (library.file_name.empty()) {
        continue;
      }
      if (auto status = libraries_->unpack(library); !status) {
        return status;
      }
      if (stacks_.engine) {
        const std::string path = libraries_->path() + "/" + std::string(library.file_name);
        if (auto status = stacks_.engine->attach_library(path); !status) {
          return status;
        }
      }
      if (auto status = backend->prepare(env_); !status) {
        return status;
      }
    }
    return {};
  }

  // Libraries, environment and uprobes: whatever can fail for a reason of the machine, before anything is started.
  Status open_sources() {
    backends_ = backend::make_all();
    for (const Error& remark : check_environment(own_environment(), backends_)) {
      log::warn(remark.message, remark.hint);
    }
    if (auto status = options_.attach_pid != 0 ? attach() : prepare_injection(); !status) {
      return status;
    }
    start_ns_ = monotonic_ns();
    JoinOptions correlate{.start_ns = start_ns_,
                          .interval_ns = options_.interval_ns,
                          .counted_functions = attached_to_.functions,
                          .attach_pid = options_.attach_pid,
                          .stacks_wanted = stacks_.any(),
                          .stacks_from_sources = stacks_.in_process,
                          .frame_pointers = stacks_.by_frame_pointers(),
                          .instruments = instruments(),
                          .timeline = options_.timeline,
                          .latency = options_.latency,
                          .memory = memory_};
    correlator_ = std::make_unique<Correlator>(std::move(correlate));
    if (stacks_.engine) {
      feed_ = std::make_unique<ProcessFeed>(*stacks_.engine);
    }
    switch_.emplace(options_.recording, start_ns_);
    if (switch_->on()) {
      correlator_->open_window(start_ns_);
    }
    return {};
  }

  // The library that is brought in waits for us at its handshake, as one that starts with its process does.
  Status attach() {
    auto who = TracedIdentity::of(options_.attach_pid);
    if (!who) {
      return std::move(who).error();
    }
    attached_pidfd_.reset(::fcntl(who->pidfd(), F_DUPFD_CLOEXEC, 0));
    const auto stop = [&who] { return pending_stop() != 0 || who->has_ended(); };
    auto injection = attach_by_injection(*who, backends_, {channel_->socket_name(), channel_->token(), stop});
    if (!injection && pending_stop() != 0) {
      return Error{"ended by a signal before process " + std::to_string(options_.attach_pid) +
                       " could be recorded: " + injection.error().message,
                   injection.error().hint};
    }
    if (!injection) {
      auto same = who->check();
      return same ? count_only(injection.error()) : same;
    }
    attached_to_.injection = std::move(*injection);
    if (stacks_.engine) {
      if (auto status = stacks_.engine->attach_library(attached_to_.injection->path); !status) {
        return status;  // an engine other than the library is there only where it was asked for by name
      }
    }
    return {};
  }

  // `why`: no library of ours could be brought in.
  Status count_only(const Error& why) {
    if (!stacks_.engine) {
      auto counting = choose_counting(options_.stacks, why);
      if (!counting) {
        return std::move(counting).error();
      }
      stacks_ = std::move(*counting);
      channel_->set_stacks(false, false);
    }
    auto functions = attach_launch_functions(options_.attach_pid, backends_, *stacks_.engine);
    if (!functions) {
      return std::move(functions).error();
    }
    attached_to_.functions = std::move(*functions);
    attached_to_.counts_only = why.message;
    log::warn("launches are counted only: " + why.message, why.hint);
    if (!options_.nvtx_range.empty()) {
      log::warn("all launches are counted, not only those inside of --nvtx-range",
                "NVTX ranges are seen only by a library that has been brought in");
    }
    return {};
  }

  // Our libraries and the vendors' tool libraries.
  [[nodiscard]] Instruments instruments() const {
    std::vector<std::string> beginnings;
    for (const auto& backend : backends_) {
      const auto libraries = backend->instrument_libraries();
      beginnings.insert(beginnings.end(), libraries.begin(), libraries.end());
      if (const auto ours = backend->library().file_name; !ours.empty()) {
        beginnings.emplace_back(ours);
      }
    }
    return Instruments(std::move(beginnings));
  }

  [[nodiscard]] bool counts_only() const { return options_.attach_pid != 0 && !attached_to_.injection; }

  Status open_profile() {
    auto output = open_profile_file(options_.output);
    if (!output) {
      return std::move(output).error();
    }
    output_.emplace(std::move(*output));
    if (user_) {
      output_->set_owner(user_->uid, user_->gid);
    }
    return {};
  }

  // The command is started once the output can be written, and takes its name once the command runs: neither costs the
  // user the other. The target waits for us at its first handshake, so nothing is missed meanwhile.
  Status start() {
    if (options_.attach_pid == 0) {
      ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the command leaves behind stays our child
      const TargetSpec spec{options_.command, goes_to_stdout(options_.output), file_limit_, default_signals_};
      auto target = Target::spawn(spec, user_, env_, signals_.original_mask());
      if (!target) {
        return std::move(target).error();
      }
      target_.emplace(std::move(*target));
    }
    if (const Status named = output_->commit(); !named) {
      log::warn(named.error().message, named.error().hint);  // it is tried again at the end
    }
    sink_ = std::make_unique<ProfileSink>(output_->take_fd(), instruments(), memory_);
    add_session_meta(*correlator_, options_,
                     {.start_ns = start_ns_,
                      .stack_engine = stacks_.name(),
                      .stack_engine_reason = stacks_.reason,
                      .counts_only = attached_to_.counts_only},
                     backends_);
    write_batch();
    return {};
  }

  void loop() {
    const uint64_t write_every = std::min(options_.interval_ns, kWriteIntervalNs);
    uint64_t next_write = monotonic_ns() + write_every;
    int wait_ms = kBusyPollMs;
    while (!done()) {
      wait(wait_ms);
      handle_signals();
      wait_ms = turn() > 0 ? kBusyPollMs : std::min(wait_ms * 2, kIdlePollMs);
      const uint64_t now = monotonic_ns();
      if (switch_->update(now)) {
        apply_switch();
      }
      if (now >= next_budget_ns_) {
        channel_->keep_budget(now);
        next_budget_ns_ = now + OverheadLimiter::kIntervalNs;
        tell_if_not_connected(now);
      }
      const size_t may_wait = memory_->is_limited() ? 1 : kMaxBatches;
      if ((now >= next_write || correlator_->rows_waiting() > kMaxRows) && sink_->waiting() < may_wait) {
        write_batch();
        next_write = now + write_every;
      }
      give_up_if_unwritable();
    }
  }

  // A window holds all of the time in which targets record, also where we are held up in between.
  void apply_switch() {
    switched_ = true;
    if (switch_->on()) {
      correlator_->open_window(monotonic_ns());
      channel_->set_enabled(!write_failed_);
    } else {
      channel_->set_enabled(false);
      correlator_->close_window(monotonic_ns());
    }
    log::debug(switch_->on() ? "recording is on" : "recording is off");
  }

  // A library that has been brought in may find no vendor library that it can use, and have no way to say so.
  void tell_if_not_connected(uint64_t now) {
    if (attached_to_.injection && !said_not_connected_ && !ever_connected_ && now > start_ns_ + kConnectWaitNs) {
      said_not_connected_ = true;
      log::warn(
          "the library was brought into process " + std::to_string(options_.attach_pid) + ", but has not connected yet",
          "gpuprof doctor shows whether this machine's CUPTI can be used");
    }
  }

  // The user's work is worth more than our profile: the target goes on, and its status is passed on in the end.
  void give_up_if_unwritable() {
    if (!write_failed_ && sink_->failed()) {
      write_failed_ = true;
      log::warn(output_->name() + " cannot be written any more; the target goes on without being recorded");
      channel_->disable_all();
      feed_.reset();
      stacks_.engine.reset();
    }
  }

  // Until something happens, or the time is up: launches make no wake-ups, they are polled for.
  void wait(int milliseconds) {
    poll_fds_.clear();
    poll_fds_.push_back({signals_.fd(), POLLIN, 0});
    if (target_ && !target_status_) {
      poll_fds_.push_back({target_->pidfd(), POLLIN, 0});
    }
    if (attached_pidfd_) {
      poll_fds_.push_back({attached_pidfd_.get(), POLLIN, 0});
    }
    if (feed_) {
      poll_fds_.push_back({feed_->fd(), POLLIN, 0});
    }
    channel_->add_poll_fds(poll_fds_);
    ::poll(poll_fds_.data(), poll_fds_.size(), milliseconds);
  }

  // One turn of the drain: stacks of all launches up to the snapshot are in before the GPU work they caused.
  size_t turn() {
    channel_->accept_all(*correlator_);
    feed_engine();
    ever_connected_ = ever_connected_ || channel_->live_sources() > 0;
    channel_->snapshot();
    if (stacks_.engine) {
      stacks_.engine->drain(*correlator_);
    }
    const size_t bytes = channel_->drain(*correlator_);
    correlator_->settle();
    memory_->look();
    if (const auto ended = correlator_->take_ended_stacks(); stacks_.engine && !ended.empty()) {
      stacks_.engine->forget(ended);
    }
    return bytes;
  }

  // The engine makes itself ready for new processes, which wait for that in their handshake; but not for too long.
  void feed_engine() {
    auto news = correlator_->take_news();
    if (feed_) {
      feed_->clear_fd();
      feed_->put(std::move(news));
    }
    held_.update(*channel_, feed_.get(), *correlator_);
  }

  [[nodiscard]] bool attached_has_ended() const {
    pollfd ended{attached_pidfd_.get(), POLLIN, 0};
    return !attached_pidfd_ || ::poll(&ended, 1, 0) == 1;
  }

  bool done() {
    if (options_.attach_pid != 0) {
      return stop_requests_ > 0 || write_failed_ || switch_->expired() || attached_has_ended();
    }
    if (!target_status_) {
      target_status_ = target_->try_wait();
      linger_until_ns_ = monotonic_ns() + kLingerNs;
      return false;  // one more turn after its end
    }
    if (!options_.wait_for_children || stop_requests_ > 0 || write_failed_) {
      return true;
    }
    return !children_may_use_gpu();
  }

  // Processes that the command has left behind: those that have connected, and for a while those that may yet.
  bool children_may_use_gpu() {
    pid_t ended = 0;
    do {
      ended = ::waitpid(-1, nullptr, WNOHANG);
    } while (ended > 0);
    const bool children = ended == 0;
    const uint64_t now = monotonic_ns();
    if (channel_->live_sources() == 0 && !channel_->expects_callers()) {
      return children && now < linger_until_ns_;
    }
    linger_until_ns_ = now + kLingerNs / 10;
    if (!said_waiting_) {
      said_waiting_ = true;
      log::info("the command has ended; waiting for processes of it that use a GPU (Ctrl-C ends the recording)");
    }
    return true;
  }

  // The first signal goes to the target, which may clean up; the next ones insist.
  void handle_signals() {
    while (const auto event = signals_.next()) {
      const uint64_t now = monotonic_ns();
      if (event->signal == SIGTSTP) {
        pause_with_target();
        continue;
      }
      if (!is_stop(event->signal)) {
        if (switch_->turn(event->signal == SIGUSR1, now)) {
          apply_switch();
        }
        continue;
      }
      stop_requests_ = now - last_signal_ns_ > kSignalMemoryNs ? 1 : stop_requests_ + 1;
      last_signal_ns_ = now;
      if (!target_) {
        continue;
      }
      // What has a session of its own gets nothing from our terminal.
      if (stop_requests_ == 1 && (!event->from_terminal || target_->has_own_session())) {
        target_->send(event->signal);
      } else if (stop_requests_ == 2) {
        log::info("asking the target to end (SIGTERM); once more kills it");
        target_->send(SIGTERM);
      } else if (stop_requests_ > 2) {
        target_->send(SIGKILL);
      }
    }
  }

  // Ctrl-Z, where the target is in a session of its own: there the kernel would ignore its SIGTSTP.
  void pause_with_target() {
    if (target_) {
      target_->send(SIGSTOP);
      ::raise(SIGSTOP);  // until the shell lets us go on
      target_->send(SIGCONT);
    }
  }

  void write_batch() {
    if (stacks_.engine) {
      const StackLosses now = stacks_.engine->losses();
      correlator_->add_loss({}, "bpf_ring_full", now.launches - losses_.launches);
      correlator_->add_loss({}, "bpf_stack_lost", now.stacks - losses_.stacks);
      correlator_->add_loss({}, "stack_unreadable", now.unreadable - losses_.unreadable);
      losses_ = now;
    }
    const uint64_t malformed = channel_->decode_counts().malformed;
    correlator_->add_loss({}, "malformed", malformed - malformed_);
    malformed_ = malformed;
    correlator_->add_loss({}, "process_refused", channel_->refused() - refused_);
    refused_ = channel_->refused();
    sink_->put(correlator_->take_batch());
  }

  template <typename Done>
  void turn_until(Done done, uint64_t wait_ns) {
    const uint64_t until = monotonic_ns() + wait_ns;
    while (channel_->live_sources() > 0 && !done() && monotonic_ns() < until) {
      ::usleep(2000);
      turn();
    }
  }

  // Processes that go on without us hand over what they still hold.
  void flush_living() {
    channel_->request_flush();
    turn_until([this] { return channel_->all_flushed(); }, kFlushWaitNs);
  }

  // May take some seconds. The last window has ended before, so that they are not taken for idle time.
  void leave_living() {
    if (attached_to_.injection) {
      channel_->request_retract();
      turn_until([this] { return channel_->all_retracted(); }, kRetractWaitNs);
      if (!channel_->all_retracted()) {
        log::info("the library that was brought in leaves process " + std::to_string(options_.attach_pid) +
                  " at its next call of the GPU's library");
      }
    }
    channel_->disable_all();
    turn();
  }

  Result<SessionResult> finish() {
    channel_->set_enabled(false);
    const uint64_t end_ns = monotonic_ns();
    if (switch_->on()) {
      correlator_->close_window(end_ns);
    }
    flush_living();
    leave_living();
    channel_->count_unheard();
    correlator_->finish();
    SummaryFacts facts;
    facts.wall_ns = end_ns - start_ns_;
    facts.overhead = channel_->overhead();
    facts.recorder_cpu_ns = own_cpu_ns();
    facts.counts_only = counts_only();
    facts.stacks_missing = !stacks_.any();
    facts.target_end = target_end(target_status_, attached_has_ended());
    facts.only_a_window = switched_ || !switch_->on() || options_.attach_pid != 0;
    facts.used_gpu = ever_connected_;
    correlator_->add_meta("target.exit_status", facts.target_end);
    add_overhead_meta(*correlator_, options_, facts, channel_->budget_state());
    write_batch();  // counts its own losses into the totals
    const Totals& totals = correlator_->totals();
    Batch last;
    last.end = profile::End{.end_ns = end_ns,
                            .launches = totals.launches,
                            .gpu_records = totals.gpu_records,
                            .gpu_ns = totals.gpu_ns,
                            .with_stack = totals.with_stack,
                            .samples = 0,
                            .lost = totals.lost_in_all()};
    sink_->put(std::move(last));
    Status written = sink_->finish(signals_);
    facts.totals = totals;
    if (memory_->left_out() != 0) {
      facts.totals.lost["memory_limit"] = memory_->left_out();
    }
    facts.totals.with_stack -= std::min(facts.totals.with_stack, sink_->without_frames());
    facts.totals.coverage.without_stack += counts_only() ? 0 : sink_->without_frames();
    facts.stacks = sink_->stacks();
    facts.left_out = sink_->left_out();
    facts.file_bytes = sink_->bytes_written();
    Status named = settle_name(facts);
    return conclude(facts, std::move(written), std::move(named));
  }

  // The profile has its name, or is kept under another. What is said of it names the place where it really is.
  Status settle_name(SummaryFacts& facts) {
    const auto place = output_->finish();
    facts.file = place ? *place : output_->place().value_or(output_->name());
    return place ? Status() : Status(place.error());
  }

  // What the user is told, and what becomes our exit status. A command's own failure goes before ours.
  Result<SessionResult> conclude(const SummaryFacts& facts, Status written, Status named) {
    const SessionResult result{target_status_.value_or(0), covered_work(facts)};
    std::optional<Error> failure;
    if (!written) {
      failure = unwritten(facts, std::move(written).error());
    }
    if (!named && failure) {
      failure->hint = named.error().hint;
    } else if (!named) {
      failure = std::move(named).error();
    }
    if (failure && result.wait_status == 0) {
      return std::move(*failure);
    }
    if (failure) {
      log::error(*failure);
      return result;
    }
    tell_summary(facts, channel_->budget_state().exceeded);
    return result;
  }

  const SessionOptions& options_;
  Signals& signals_;
  std::optional<rlimit> file_limit_;  // as we found it
  std::vector<int> default_signals_;
  std::optional<TargetUser> user_;
  std::vector<std::unique_ptr<backend::Backend>> backends_;
  std::shared_ptr<MemoryBudget> memory_ = std::make_shared<MemoryBudget>();
  StackSetup stacks_;
  std::unique_ptr<ProcessFeed> feed_;  // with a stack engine
  HeldProcesses held_;
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<LibraryDir> libraries_;
  backend::LaunchEnv env_;
  std::unique_ptr<Correlator> correlator_;
  std::unique_ptr<ProfileSink> sink_;
  std::optional<Target> target_;
  std::optional<int> target_status_;
  std::vector<pollfd> poll_fds_;
  StackLosses losses_;
  uint64_t malformed_ = 0;
  uint64_t refused_ = 0;
  uint64_t linger_until_ns_ = 0;
  uint64_t last_signal_ns_ = 0;
  bool write_failed_ = false;
  uint64_t start_ns_ = 0;
  int stop_requests_ = 0;
  bool said_waiting_ = false;
  std::optional<OutputFile> output_;
  UniqueFd attached_pidfd_;    // of the process of record -p, and ...
  AttachOutcome attached_to_;  // ... how it is recorded
  bool ever_connected_ = false;
  bool said_not_connected_ = false;
  bool switched_ = false;  // recording was not on, or not off, all of the time
  std::optional<RecordingSwitch> switch_;
  uint64_t next_budget_ns_ = 0;
};

}  // namespace

Result<SessionResult> run_session(const SessionOptions& options) {
  // A descriptor stays open per mapped file: PyTorch maps hundreds. Targets get the old limit back.
  rlimit files{};
  const bool raised = ::getrlimit(RLIMIT_NOFILE, &files) == 0;
  if (raised) {
    const rlimit more{files.rlim_max, files.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &more);
  }
  auto signals = Signals::block(!options.user.empty());
  if (!signals) {
    return std::move(signals).error();
  }
  Session session(options, *signals, raised ? std::optional<rlimit>(files) : std::nullopt);
  return session.run();
}

}  // namespace gpuprof::record
