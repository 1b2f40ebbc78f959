#include "record/session.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "base/files/output_file.h"
#include "base/log.h"
#include "record/ipc/channel.h"
#include "record/ipc/overhead_limiter.h"
#include "record/join/correlator.h"
#include "record/memory_budget.h"
#include "record/process/instruments.h"
#include "record/recording_switch.h"
#include "record/session/attachment.h"
#include "record/session/clocks.h"
#include "record/session/command.h"
#include "record/session/conclusion.h"
#include "record/session/gpu_instructions.h"
#include "record/session/gpu_lines.h"
#include "record/session/injection_setup.h"
#include "record/session/live_show.h"
#include "record/session/local_sources.h"
#include "record/session/recorder_losses.h"
#include "record/session/session_meta.h"
#include "record/session/timing.h"
#include "record/session/turn.h"
#include "record/signals.h"
#include "record/stack_choice.h"
#include "record/summary.h"
#include "record/target/environment.h"
#include "record/target/target_user.h"
#include "record/write/output_name.h"
#include "record/write/profile_sink.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::record {
namespace {

// Where nvdisasm is looked for: the toolkit does not add itself to PATH.
std::string disassembler_path() {
  const char* const path = std::getenv("PATH");
  return std::string(path == nullptr ? "" : path) + ":/usr/local/cuda/bin";
}

constexpr size_t kMaxRows = 200'000;                   // then a batch is written before its time
constexpr uint64_t kMaxCodeBytes = uint64_t{1} << 30;  // of GPU code, which is kept to find its source lines
constexpr size_t kMaxBatches = 4;  // that wait for a slow disk; further work is aggregated meanwhile

// The order of the members is the order in which parts come to be: each uses only what stands above it.
class Session {
 public:
  Session(const SessionOptions& options, backend::Backends backends, Signals& signals, std::optional<rlimit> file_limit)
      : options_(options),
        signals_(signals),
        file_limit_(file_limit),
        backends_(std::move(backends)),
        attachment_(options.attach_pid),
        live_(options.live, memory_, monotonic_ns()) {}

  Result<SessionResult> run() {
    for (const auto step : {&Session::find_target_user, &Session::choose_stack_engine, &Session::open_channel,
                            &Session::open_profile, &Session::prepare_target, &Session::start_join,
                            &Session::start_sources, &Session::start_command, &Session::begin_profile}) {
      if (Status done = (this->*step)(); !done) {
        return std::move(done).error();
      }
    }
    loop();
    live_.hide();
    return finish();
  }

 private:
  // The steps, in their order. Whatever can fail for a reason of the machine does so before anything is started.

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
    tell_if_root_is_not_needed();
    return {};
  }

  // Root beside strangers is a risk that nobody should take for nothing.
  void tell_if_root_is_not_needed() const {
    const bool for_nothing = !attachment_.is_wanted() && !stacks_.engine && !LocalSources::are_in(backends_);
    if (::geteuid() == 0 && !user_ && for_nothing) {
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
                                  .attached = attachment_.is_wanted(),
                                  .max_overhead = options_.max_overhead,
                                  .samples = options_.samples,
                                  .sampling_period = options_.sampling_period,
                                  .exact = exact_sampling(),
                                  .counted = options_.counted,
                                  .code_only = code_only(),
                                  .nvtx_range = options_.nvtx_range,
                                  .code = {.session_bytes = options_.samples || counts() ? kMaxCodeBytes : 0},
                                  .expected = expected_callers(),
                                  .memory = memory_,
                                  .ids = source_ids_});
    if (!channel) {
      return std::move(channel).error();
    }
    channel_ = std::move(*channel);
    gpu_lines_.emplace(channel_->code());
    return {};
  }

  // A launch that is sampled waits until it has run: how much of the time may go to that.
  [[nodiscard]] ExactSampling exact_sampling() const {
    constexpr double kPercent = 10;
    ExactSampling exact{.on = options_.exact.on,
                        .every = options_.exact.every,
                        .percent = options_.max_overhead > 0 ? options_.max_overhead : kPercent,
                        .chosen = {}};
    exact.chosen = chosen_kernels();
    return exact;
  }

  [[nodiscard]] std::vector<std::string> code_only() const {
    std::vector<std::string> names;
    for (const auto& backend : backends_) {
      if (backend->is_code_only()) {
        names.emplace_back(backend->descriptor().name);
      }
    }
    return names;
  }

  // By names as targets have them. None: all kernels are chosen.
  [[nodiscard]] std::function<bool(std::string_view)> chosen_kernels() const {
    if (!options_.kernel) {
      return {};
    }
    return [kernel = *options_.kernel](std::string_view name) { return kernel.matches(symbolize::demangle(name)); };
  }

  [[nodiscard]] bool counts() const { return !options_.counted.empty(); }

  [[nodiscard]] ExpectedCallers expected_callers() const {
    const auto attached = static_cast<pid_t>(options_.attach_pid);
    if (attached == 0) {
      return {.user = user_ ? std::optional<uid_t>(user_->uid) : std::nullopt};
    }
    const auto process = ProcessGuard::of_process(attached);
    return {.user = process ? std::optional<uid_t>(process->credentials().uid) : std::nullopt, .ancestor = attached};
  }

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

  Status prepare_target() {
    for (const Error& remark : check_environment(own_environment(), backends_)) {
      log::warn(remark.message, remark.hint);
    }
    return attachment_.is_wanted()
               ? attachment_.begin(options_, backends_, *channel_, stacks_)
               : injection_.prepare(backends_, *channel_, stacks_.engine.get(), user_, options_.preserve_environment);
  }

  Status start_join() {
    start_ns_ = monotonic_ns();
    JoinOptions correlate{.start_ns = start_ns_,
                          .interval_ns = options_.interval_ns,
                          .counted_functions = attachment_.functions(),
                          .attach_pid = options_.attach_pid,
                          .stacks_wanted = stacks_.any(),
                          .stacks_from_sources = stacks_.in_process,
                          .frame_pointers = stacks_.by_frame_pointers(),
                          .instruments = Instruments::of(backends_),
                          .timeline = options_.timeline,
                          .latency = options_.latency,
                          .samples = options_.samples,
                          .code_reader = &*gpu_lines_,
                          .counted_kernels = chosen_kernels(),
                          .memory = memory_};
    correlator_ = std::make_unique<Correlator>(std::move(correlate));
    turn_.emplace(*channel_, sources_, *correlator_, stacks_.engine.get(), *memory_);
    return {};
  }

  Status start_sources() {
    const auto root = attachment_.is_wanted() ? static_cast<pid_t>(options_.attach_pid) : ::getpid();
    const backend::Recording recording{*correlator_, *source_ids_, root, options_.samples, options_.sampling_period};
    if (Status started = sources_.start(backends_, recording); !started) {
      return started;
    }
    switch_.emplace(options_.recording, start_ns_);
    if (switch_->on()) {
      correlator_->open_window(start_ns_);
      sources_.set_recording(true);
    }
    return {};
  }

  // The command is started once the output can be written, and takes its name once the command runs: neither costs the
  // user the other. The target waits for us at its first handshake, so nothing is missed meanwhile.
  Status start_command() {
    if (!attachment_.is_wanted()) {
      const TargetSpec spec{options_.command, goes_to_stdout(options_.output), file_limit_, default_signals_};
      if (Status started = command_.start(spec, user_, injection_.env(), signals_.original_mask()); !started) {
        return started;
      }
    }
    if (const Status named = output_->commit(); !named) {
      log::warn(named.error().message, named.error().hint);  // it is tried again at the end
    }
    return {};
  }

  Status begin_profile() {
    sink_ = std::make_unique<ProfileSink>(output_->take_fd(), Instruments::of(backends_), memory_, live_.sums());
    add_session_meta(*correlator_, options_,
                     {.start_ns = start_ns_,
                      .stack_engine = stacks_.name(),
                      .stack_engine_reason = stacks_.reason,
                      .counts_only = attachment_.counts_only()},
                     backends_);
    write_batch();
    return {};
  }

  // While it runs.

  void loop() {
    next_write_ns_ = monotonic_ns() + write_interval_ns();
    int wait_ms = kBusyPollMs;
    while (!is_over()) {
      wait(wait_ms);
      handle_signals();
      wait_ms = turn_->take() > 0 ? kBusyPollMs : std::min(wait_ms * 2, kIdlePollMs);
      const uint64_t now = monotonic_ns();
      if (switch_->update(now)) {
        apply_switch();
      }
      keep_budget(now);
      clocks_.look(*correlator_, backends_);
      write_if_due(now);
      live_.show_if_due(now, *correlator_, switch_->on());
      give_up_if_unwritable();
    }
  }

  [[nodiscard]] uint64_t write_interval_ns() const { return std::min(options_.interval_ns, kWriteIntervalNs); }

  bool is_over() {
    if (attachment_.is_wanted()) {
      return stop_requests_ > 0 || write_failed_ || switch_->expired() || attachment_.has_ended();
    }
    if (!command_.had_ended()) {
      return false;
    }
    return !options_.wait_for_children || stop_requests_ > 0 || write_failed_ || !command_.is_survived(*channel_);
  }

  // Until something happens, or the time is up.
  void wait(int milliseconds) {
    poll_fds_.clear();
    poll_fds_.push_back({signals_.fd(), POLLIN, 0});
    command_.add_poll_fd(poll_fds_);
    attachment_.add_poll_fd(poll_fds_);
    turn_->add_poll_fds(poll_fds_);
    ::poll(poll_fds_.data(), poll_fds_.size(), milliseconds);
  }

  void handle_signals() {
    while (const auto event = signals_.next()) {
      if (event->signal == SIGTSTP) {
        live_.hide();
        command_.pause_with_us();
      } else if (is_stop(event->signal)) {
        const uint64_t now = monotonic_ns();
        stop_requests_ = now - last_stop_ns_ > kSignalMemoryNs ? 1 : stop_requests_ + 1;
        last_stop_ns_ = now;
        command_.pass_on(*event, stop_requests_);
      } else if (switch_->turn(event->signal == SIGUSR1, monotonic_ns())) {
        apply_switch();
      }
    }
  }

  // A window holds all of the time in which targets record, also where we are held up in between.
  void apply_switch() {
    switched_ = true;
    if (switch_->on()) {
      correlator_->open_window(monotonic_ns());
      channel_->set_enabled(!write_failed_);
      sources_.set_recording(true);
    } else {
      sources_.set_recording(false);
      channel_->set_enabled(false);
      correlator_->close_window(monotonic_ns());
    }
    log::debug(switch_->on() ? "recording is on" : "recording is off");
  }

  void keep_budget(uint64_t now) {
    if (now < next_budget_ns_) {
      return;
    }
    channel_->keep_budget(now);
    next_budget_ns_ = now + OverheadLimiter::kIntervalNs;
    if (!turn_->ever_connected()) {
      attachment_.tell_if_not_connected(start_ns_, now);
    }
  }

  void write_if_due(uint64_t now) {
    const size_t may_wait = memory_->is_limited() ? 1 : kMaxBatches;
    if ((now >= next_write_ns_ || correlator_->rows_waiting() > kMaxRows) && sink_->waiting() < may_wait) {
      write_batch();
      next_write_ns_ = now + write_interval_ns();
    }
  }

  void write_batch() {
    losses_.tell(*channel_, stacks_.engine.get(), *correlator_);
    sink_->put(correlator_->take_batch());
  }

  // The user's work is worth more than our profile: the target goes on, and its status is passed on in the end.
  void give_up_if_unwritable() {
    if (!write_failed_ && sink_->failed()) {
      write_failed_ = true;
      log::warn(output_->name() + " cannot be written any more; the target goes on without being recorded");
      channel_->disable_all();
      sources_.stop();
      turn_->leave_engine();
      stacks_.engine.reset();
    }
  }

  // The end.

  Result<SessionResult> finish() {
    const uint64_t end_ns = stop_recording();
    SummaryFacts facts = facts_at(end_ns);
    correlator_->add_meta("target.exit_status", facts.target_end);
    add_overhead_meta(*correlator_, options_, facts, channel_->budget_state());
    tell_of_samples();
    Status written = write_end(end_ns);
    add_written(*sink_, *memory_, correlator_->totals(), facts);
    const int status = command_.status().value_or(0);
    return conclude(*output_, status, std::move(facts), std::move(written), channel_->budget_state().exceeded);
  }

  void tell_of_samples() const {
    if (options_.samples && correlator_->totals().samples == 0 && turn_->ever_connected()) {
      log::warn("there are no samples of what happens inside of kernels",
                "sampled are CUDA programs, on GPUs whose counters this user may read, and Intel GPUs by Level Zero's "
                "metrics or, with --backend drm, by the driver xe: gpuprof doctor");
    }
    if (counts() && correlator_->counted() == 0 && turn_->ever_connected()) {
      log::warn("nothing was counted of what instructions do",
                "only CUDA programs are counted, on GPUs whose counters this user may read: gpuprof doctor");
    }
    const auto [cubins, zebins] = gpu_lines_->without_lines();
    if (cubins > 0) {
      log::info(std::to_string(cubins) +
                " sampled kernels have no source lines: nvcc adds them with -lineinfo, at no cost at run time");
    }
    if (zebins > 0) {
      log::info(std::to_string(zebins) +
                " sampled kernels have no source lines: icpx adds them with -gline-tables-only, and where a program "
                "builds them itself, the build option -g does");
    }
  }

  // Returns when the last window ended: what is waited for after that is not taken for idle time.
  uint64_t stop_recording() {
    sources_.set_recording(false);
    channel_->set_enabled(false);
    const uint64_t end_ns = monotonic_ns();
    if (switch_->on()) {
      correlator_->close_window(end_ns);
    }
    flush_living();
    leave_living();
    sources_.stop();
    channel_->count_unheard();
    correlator_->finish();
    add_gpu_instructions(*correlator_, *gpu_lines_, disassembler_path());
    clocks_.finish(*correlator_, backends_);
    return end_ns;
  }

  // Processes that go on without us hand over what they still hold.
  void flush_living() {
    channel_->request_flush();
    turn_->take_until([this] { return channel_->all_flushed(); }, kFlushWaitNs);
  }

  // May take some seconds.
  void leave_living() {
    if (attachment_.has_library()) {
      channel_->request_retract();
      turn_->take_until([this] { return channel_->all_retracted(); }, kRetractWaitNs);
      if (!channel_->all_retracted()) {
        log::info("the library that was brought in leaves process " + std::to_string(options_.attach_pid) +
                  " at its next call of the GPU's library");
      }
    }
    channel_->disable_all();
    turn_->take();
  }

  [[nodiscard]] SummaryFacts facts_at(uint64_t end_ns) const {
    SummaryFacts facts;
    facts.wall_ns = end_ns - start_ns_;
    facts.overhead = channel_->overhead();
    facts.recorder_cpu_ns = own_cpu_ns();
    facts.counts_only = !attachment_.counts_only().empty() && !sources_.were_any();
    facts.counted = correlator_->counted();
    facts.stacks_missing = !stacks_.any();
    facts.target_end = target_end(command_.status(), attachment_.has_ended());
    facts.only_a_window = switched_ || !switch_->on() || attachment_.is_wanted();
    facts.used_gpu = turn_->ever_connected();
    if (const Totals& totals = correlator_->totals(); totals.launches == 0 && totals.gpu_records == 0) {
      facts.unseen = unseen_backends(backends_);
    }
    return facts;
  }

  Status write_end(uint64_t end_ns) {
    write_batch();  // counts its own losses into the totals
    const Totals& totals = correlator_->totals();
    Batch last;
    last.end = profile::End{.end_ns = end_ns,
                            .launches = totals.launches,
                            .gpu_records = totals.gpu_records,
                            .gpu_ns = totals.gpu_ns,
                            .with_stack = totals.with_stack,
                            .samples = totals.samples,
                            .lost = totals.lost_in_all()};
    sink_->put(std::move(last));
    return sink_->finish(signals_);
  }

  const SessionOptions& options_;
  Signals& signals_;
  std::optional<rlimit> file_limit_;  // as we found it
  std::vector<int> default_signals_ = ignore_write_signals();
  std::shared_ptr<MemoryBudget> memory_ = std::make_shared<MemoryBudget>();
  std::shared_ptr<backend::SourceIds> source_ids_ = std::make_shared<backend::SourceIds>();
  backend::Backends backends_;

  std::optional<TargetUser> user_;
  StackSetup stacks_;
  std::unique_ptr<Channel> channel_;
  std::optional<GpuLines> gpu_lines_;
  std::optional<OutputFile> output_;
  InjectionSetup injection_;  // into the command, or ...
  Attachment attachment_;     // ... into a running process
  std::unique_ptr<Correlator> correlator_;
  LocalSources sources_;
  Clocks clocks_;
  std::optional<Turn> turn_;
  std::optional<RecordingSwitch> switch_;
  Command command_;
  LiveShow live_;
  std::unique_ptr<ProfileSink> sink_;
  RecorderLosses losses_;

  uint64_t start_ns_ = 0;
  uint64_t next_write_ns_ = 0;
  uint64_t next_budget_ns_ = 0;
  uint64_t last_stop_ns_ = 0;
  int stop_requests_ = 0;
  bool write_failed_ = false;
  bool switched_ = false;  // recording was not on, or not off, all of the time
  std::vector<pollfd> poll_fds_;
};

}  // namespace

Result<SessionResult> run_session(const SessionOptions& options, backend::Backends backends) {
  // A descriptor stays open per mapped file: PyTorch maps hundreds. Targets get the old limit back.
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
