#include "record/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/memory_budget.h"
#include "record/process/unrecorded.h"
#include "record/session/attach/attachment.h"
#include "record/session/attach/late_injections.h"
#include "record/session/clocks.h"
#include "record/session/code/gpu_instructions.h"
#include "record/session/code/gpu_lines.h"
#include "record/session/command.h"
#include "record/session/conclusion.h"
#include "record/session/injection_setup.h"
#include "record/session/live_show.h"
#include "record/session/local_sources.h"
#include "record/session/meta/session_meta.h"
#include "record/session/plan.h"
#include "record/session/poll_iteration.h"
#include "record/session/profile_output.h"
#include "record/session/recording_windows.h"
#include "record/session/timing.h"
#include "record/signals.h"
#include "record/stack_choice.h"
#include "record/summary.h"
#include "record/target/environment.h"
#include "record/target/target_user.h"
#include "record/write/output_name.h"

namespace gpuprof::record {
namespace {

// After sudo, and once on a machine, warns that recording as root is a risk and is not needed for one's own command.
void mention_root() {
  const std::string folder = "/var/cache/gpuprof";
  // Without sudo, root is probably the only user, as in a container.
  if (::getenv("SUDO_UID") == nullptr || log::level() == log::Level::quiet) {
    return;
  }
  create_folder(AT_FDCWD, folder, 0755);
  if (create_file(AT_FDCWD, folder + "/root-mentioned", 0644)) {
    log::info("root is not needed to record a command of your own; with sudo, --user NAME runs it as that user");
  }
}

// Members are in order of construction: each one uses only earlier members.
class Session {
 public:
  Session(const SessionOptions& options, backend::Backends backends, Signals& signals, std::optional<rlimit> file_limit)
      : options_(options),
        signals_(signals),
        file_limit_(file_limit),
        backends_(std::move(backends)),
        attachment_(options.attach_pid),
        live_(options.live, memory_, monotonic_ns()),
        output_(memory_,
                options.interval_ns == 0 ? kWriteIntervalNs : std::min(options.interval_ns, kWriteIntervalNs)) {}

  Result<SessionResult> run() {
    called_ns_ = monotonic_ns();
    for (const auto step :
         {&Session::find_target_user, &Session::choose_stack_engine, &Session::open_channel_and_profile,
          &Session::prepare_target, &Session::start_sources, &Session::start_command}) {
      if (Status done = (this->*step)(); !done) {
        return std::move(done).error();
      }
    }
    begin_profile();
    own_cpu_before_ns_ = own_cpu_ns();
    loop();
    live_.hide();
    return finish();
  }

 private:
  // The steps of a session, in order. Steps that can fail because of missing rights, tools or files come before the
  // target starts.

  Status find_target_user() {
    auto user = find_user(options_.user);
    if (!user) {
      return std::move(user).error();
    }
    user_ = std::move(*user);
    return {};
  }

  Status choose_stack_engine() {
    auto stacks = choose_stacks(options_.stacks);
    if (!stacks) {
      return std::move(stacks).error();
    }
    stacks_ = std::move(*stacks);
    if (options_.exact_off_cpu) {
      auto started = OffCpuEngine::start();
      if (!started) {
        return std::move(started).error();
      }
      off_cpu_ = std::move(*started);
    }
    const bool for_nothing =
        !attachment_.is_wanted() && !stacks_.engine && !off_cpu_ && !LocalSources::are_in(backends_);
    if (::geteuid() == 0 && !user_ && for_nothing) {
      mention_root();
    }
    return {};
  }

  Status open_channel_and_profile() {
    ChannelOptions planned = plan_channel(options_, stacks_, backends_);
    planned.expected = attachment_.expected_callers(user_);
    planned.memory = memory_;
    planned.ids = source_ids_;
    auto channel = Channel::open(planned);
    if (!channel) {
      return std::move(channel).error();
    }
    channel_ = std::move(*channel);
    gpu_lines_.emplace(channel_->code(), memory_);
    return output_.open(options_.output, user_, options_.recent.any());
  }

  Status prepare_target() {
    for (const Error& remark : check_environment(own_environment(), backends_)) {
      log::warn(remark.message, remark.hint);
    }
    if (attachment_.is_wanted()) {
      unrecorded_.emplace(attached_libraries(backends_), static_cast<pid_t>(options_.attach_pid), false);
      return attachment_.begin(options_, backends_, *channel_, stacks_);
    }
    Status ready = injection_.prepare(backends_, *channel_, stacks_.engine.get(), user_, options_.preserve_environment);
    unrecorded_.emplace(expected_libraries(backends_, injection_.env()), ::getpid(), !LocalSources::are_in(backends_));
    if (!stacks_.engine) {  // an engine must know each library before its first launch
      late_.emplace(backends_, channel_->socket_name(), channel_->token());
    }
    return ready;
  }

  Status start_sources() {
    start_ns_ = monotonic_ns();
    JoinOptions planned = plan_join(options_, stacks_, backends_);
    planned.start_ns = start_ns_;
    planned.counted_functions = attachment_.functions();
    planned.code_reader = &*gpu_lines_;
    planned.memory = memory_;
    if (off_cpu_) {
      planned.report_off_cpu = [this](std::vector<gpuprof_bpf_feeder> threads) {
        off_cpu_->set_threads(std::move(threads));
      };
    }
    correlator_ = std::make_unique<Correlator>(std::move(planned));
    if (attachment_.is_wanted()) {
      correlator_->on_process(options_.attach_pid, attachment_.guard());
    }
    unrecorded_->count_children([this](pid_t pid, bool uses_library) {
      return attachment_.count_child(pid, uses_library, *correlator_, stacks_.engine.get());
    });
    iteration_.emplace(*channel_, sources_, *correlator_, stacks_.engine.get(), off_cpu_.get(), *memory_);
    const auto root = attachment_.is_wanted() ? static_cast<pid_t>(options_.attach_pid) : ::getpid();
    if (Status started = sources_.start(backends_, {*correlator_, *source_ids_, root, options_.sampling}); !started) {
      return started;
    }
    windows_.emplace(options_.recording, options_.has_duty_cycle() ? options_.max_overhead : 0, start_ns_, *channel_,
                     sources_, *correlator_);
    return {};
  }

  // Starts the command only after the output is known to be writable, and replaces an old profile only after the
  // command has started. The target waits for the recorder in its first handshake, so no events are missed.
  Status start_command() {
    if (!attachment_.is_wanted()) {
      const TargetSpec spec{options_.command, goes_to_stdout(options_.output), file_limit_, default_signals_};
      if (Status started = command_.start(spec, user_, injection_.env(), signals_.original_mask()); !started) {
        return started;
      }
    }
    output_.take_name(options_.recent.rotate_ns != 0);
    return {};
  }

  void begin_profile() {
    auto recent = options_.recent.any()
                      ? std::make_unique<RecentFiles>(options_.recent, start_ns_, options_.grid().interval_ns,
                                                      output_.file().name(), user_)
                      : nullptr;
    output_.begin(backends_, live_.sums(), std::move(recent));
    add_session_meta(*correlator_, options_,
                     {.start_ns = start_ns_,
                      .stack_engine = stacks_.name(),
                      .stack_engine_reason = stacks_.reason,
                      .counts_only = attachment_.counts_only()},
                     backends_);
    output_.write(*correlator_, *channel_, stacks_.engine.get());
  }

  void loop() {
    const int busy_ms = options_.has_duty_cycle() ? kLimitedPollMs : kBusyPollMs;
    int wait_ms = busy_ms;
    while (!is_over()) {
      wait(wait_ms);
      handle_signals();
      wait_ms = iteration_->take() > 0 ? busy_ms : std::min(wait_ms * 2, kIdlePollMs);
      const uint64_t now = monotonic_ns();
      windows_->update(now, cost());
      if (!iteration_->ever_connected()) {
        attachment_.warn_if_not_connected(start_ns_, now);
      }
      if (unrecorded_ && unrecorded_->look(now, [this](pid_t pid) { return channel_->has_source_of(pid); })) {
        attachment_.leave_ended_children(stacks_.engine.get());
      }
      inject_late();
      clocks_.look(*correlator_, backends_);
      output_.write_if_due(now, *correlator_, *channel_, stacks_.engine.get());
      live_.show_if_due(now, *correlator_, windows_->on());
      give_up_if_unwritable();
    }
  }

  // Records processes of containers that the command has started, if they use CUDA or Level Zero.
  void inject_late() {
    if (!late_) {
      return;
    }
    for (const pid_t pid : unrecorded_->take_hidden()) {
      if (late_->begin(pid)) {
        channel_->expect_attached(static_cast<uint32_t>(pid));
        correlator_->on_attach(static_cast<uint32_t>(pid));
      }
    }
    auto outcome = late_->take();
    if (!outcome) {
      return;
    }
    channel_->listen_at(std::move(outcome->socket));
    const std::string process = "process " + std::to_string(outcome->pid);
    if (outcome->injected) {
      unrecorded_->on_injected(outcome->pid);
      log::info(process + " does not see gpuprof's library, so gpuprof has injected it: earlier work is missing");
      correlator_->add_meta("process." + std::to_string(outcome->pid) + ".note.attached",
                            "the library was injected into the running process: earlier work is missing");
    } else {
      log::debug("the library was not injected into " + process + ": " + outcome->injected.error().message);
    }
  }

  bool is_over() {
    const bool ends = command_.stop_wanted() || windows_->given_up();
    if (attachment_.is_wanted()) {
      return ends || windows_->expired() || attachment_.has_ended();
    }
    if (!command_.had_ended()) {
      return false;
    }
    return !options_.wait_for_children || ends || !command_.has_live_processes(*channel_);
  }

  void wait(int milliseconds) {
    poll_fds_.clear();
    poll_fds_.push_back({signals_.fd(), POLLIN, 0});
    command_.add_poll_fd(poll_fds_);
    attachment_.add_poll_fd(poll_fds_);
    iteration_->add_poll_fds(poll_fds_);
    ::poll(poll_fds_.data(), poll_fds_.size(), windows_->limit_wait(milliseconds, monotonic_ns()));
  }

  [[nodiscard]] DutyCost cost() const {
    const Totals& totals = correlator_->totals();
    const Channel::Overhead overhead = channel_->overhead();
    return {.calls_ns = overhead.of_launches(totals.launches),
            .switches_ns = overhead.handover_ns,
            .recorded = totals.launches,
            .passed = totals.counts[GPUPROF_COUNT_PASSED],
            .recorded_ns = totals.counts[GPUPROF_COUNT_RECORDED_NS],
            .passed_ns = totals.counts[GPUPROF_COUNT_PASSED_NS]};
  }

  void handle_signals() {
    while (const auto event = signals_.next()) {
      if (event->signal == SIGTSTP) {
        live_.hide();
        command_.pause_with_us();
      } else if (is_stop(event->signal)) {
        terminated_ = terminated_ || event->signal == SIGTERM;
        command_.pass_on_stop(*event);
      } else if (event->signal == SIGUSR2 && options_.recent.last_ns != 0) {
        output_.recent()->want_snapshot(monotonic_ns(), "SIGUSR2");
      } else {
        windows_->set_by_user(event->signal == SIGUSR1, monotonic_ns());
      }
    }
  }

  // The user's work matters more than the profile: if the profile cannot be written, the target continues, and the
  // recorder returns its exit status.
  void give_up_if_unwritable() {
    if (!windows_->given_up() && output_.failed()) {
      log::warn(output_.file().name() + " can no longer be written; the target continues without being recorded");
      windows_->give_up();
      iteration_->leave_engine();
      stacks_.engine.reset();
    }
  }

  Result<SessionResult> finish() {
    const uint64_t cpu_ns = own_cpu_ns() - own_cpu_before_ns_;
    auto still_running =
        attachment_.is_wanted() ? std::vector<std::string>() : command_.running(*channel_, options_.wait_for_children);
    const uint64_t end_ns = stop_recording();
    SummaryFacts facts = facts_at(end_ns);
    facts.recorder_cpu_ns = cpu_ns;
    facts.still_running = std::move(still_running);
    correlator_->add_meta("target.exit_status", facts.target_end);
    add_overhead_meta(*correlator_, options_, facts);
    if (off_cpu_) {
      add_off_cpu_meta(*correlator_, off_cpu_->counts());
    }
    put_unrecorded(facts.unrecorded_processes);
    explain_missing_samples(options_.sampling, *correlator_, gpu_lines_->without_lines(), iteration_->ever_connected());
    // write() may change totals(), which the next statement reads.
    output_.write(*correlator_, *channel_, stacks_.engine.get());
    Status written = output_.finish(*correlator_, end_ns, signals_, terminated_);
    add_written(output_.sink(), *memory_, correlator_->totals(), facts);
    if (const auto& kept = output_.kept()) {
      facts.kept = {kept->ns, kept->sums.gpu_records, kept->sums.gpu_ns, kept->earlier};
      facts.file_bytes = kept->bytes;
    }
    const int status = command_.status().value_or(0);
    facts.other_cpu_ns = own_cpu_ns() - cpu_ns;
    if (attachment_.is_wanted()) {
      facts.around = {start_ns_ - called_ns_, monotonic_ns() - end_ns};
    }
    return conclude(output_.file(), status, std::move(facts), std::move(written));
  }

  void put_unrecorded(const std::vector<Error>& processes) {
    correlator_->add_loss({}, profile::LossReason::process_refused, unrecorded_->certain());
    for (const Error& process : processes) {
      correlator_->add_meta("note.unrecorded", process.message);
    }
  }

  // Returns the end of the last window. Idle time is computed only up to that end.
  uint64_t stop_recording() {
    const uint64_t end_ns = windows_->end();
    late_.reset();
    iteration_->flush_targets();
    attachment_.leave(*iteration_);
    channel_->disable_all();
    iteration_->take();
    sources_.stop();
    channel_->count_unmapped();
    correlator_->finish();
    if (!terminated_) {
      add_gpu_instructions(*correlator_, *gpu_lines_);
    }
    clocks_.finish(*correlator_, backends_);
    return end_ns;
  }

  [[nodiscard]] SummaryFacts facts_at(uint64_t end_ns) const {
    SummaryFacts facts;
    facts.wall_ns = end_ns - start_ns_;
    facts.recorded_ns = options_.has_duty_cycle() ? facts.wall_ns : correlator_->recorded_ns(start_ns_, end_ns);
    facts.overhead = channel_->overhead();
    facts.counts_only = !attachment_.counts_only().empty() && !sources_.started_any();
    facts.wants_counts = options_.sampling.counts();
    facts.counted = correlator_->counted();
    facts.stacks_missing = !stacks_.any();
    facts.target_end = target_end(command_.status(), attachment_.has_ended());
    facts.windows = correlator_->windows();
    facts.only_a_window = windows_->had_gaps() || attachment_.is_wanted();
    facts.duty_cycle = options_.has_duty_cycle();
    facts.max_overhead = options_.max_overhead;
    facts.used_gpu = iteration_->ever_connected();
    facts.lacked_descriptors = channel_->lacked_descriptors();
    facts.nvtx_range = options_.nvtx_range;
    facts.only_backends = options_.only_backends;
    const Totals& totals = correlator_->totals();
    const bool nothing = totals.launches == 0 && totals.gpu_records == 0;
    facts.unrecorded = nothing ? unseen_backends(backends_) : "";
    if (unrecorded_) {
      facts.unrecorded_processes = unrecorded_->messages(nothing && !facts.used_gpu);
    }
    return facts;
  }

  const SessionOptions& options_;
  Signals& signals_;
  bool terminated_ = false;  // by SIGTERM, after which gpuprof must end within 2 s
  // The limits on open files before run_session() raised them. Targets get these limits.
  std::optional<rlimit> file_limit_;
  std::vector<int> default_signals_ = ignore_write_signals();
  std::shared_ptr<MemoryBudget> memory_ = std::make_shared<MemoryBudget>();
  std::shared_ptr<backend::SourceIds> source_ids_ =
      std::make_shared<backend::SourceIds>([memory = memory_] { return memory->admit_process(); });
  backend::Backends backends_;

  std::optional<TargetUser> user_;
  StackSetup stacks_;
  std::unique_ptr<OffCpuEngine> off_cpu_;  // null without --cpu=bpf
  std::unique_ptr<Channel> channel_;
  std::optional<GpuLines> gpu_lines_;
  InjectionSetup injection_;
  std::optional<UnrecordedProcesses> unrecorded_;
  Attachment attachment_;
  std::optional<LateInjections> late_;
  std::unique_ptr<Correlator> correlator_;
  LocalSources sources_;
  Clocks clocks_;
  std::optional<PollIteration> iteration_;
  std::optional<RecordingWindows> windows_;
  Command command_;
  LiveShow live_;
  ProfileOutput output_;

  // Start of the session. start_ns_ comes later, after attaching.
  uint64_t called_ns_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t own_cpu_before_ns_ = 0;
  std::vector<pollfd> poll_fds_;
};

}  // namespace

Result<SessionResult> run_session(const SessionOptions& options, backend::Backends backends) {
  // Raise the limit on open files: the recorder opens each mapped file, and PyTorch maps hundreds. Targets get the old
  // limit.
  rlimit files{};
  const bool raised = ::getrlimit(RLIMIT_NOFILE, &files) == 0;
  if (raised) {
    const rlimit more{files.rlim_max, files.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &more);
  }
  auto signals = Signals::block(!options.user.empty() || options.live != nullptr);
  if (!signals) {
    return std::move(signals).error();
  }
  Session session(options, std::move(backends), *signals, raised ? std::optional<rlimit>(files) : std::nullopt);
  return session.run();
}

}  // namespace gpuprof::record
