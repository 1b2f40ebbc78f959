// gpuprof record [options] -- COMMAND [ARGS]      runs a command and records it
// gpuprof record [options] -p PID                 records a running process

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "backend/backend.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "base/text/pattern.h"
#include "base/text/shell.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/output.h"
#include "cmd/common/pattern_option.h"
#include "cmd/record/top_view.h"
#include "output/text.h"
#include "record/counted_metrics.h"
#include "record/ipc/channel.h"
#include "record/session.h"
#include "record/write/output_name.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::cmd {
namespace {

constexpr uint64_t kMsNs = 1'000'000;
constexpr uint64_t kRecordSecondNs = 1'000'000'000;

// Ends gpuprof with the signal that ended the target. So shells and CI see the same status as without gpuprof.
[[noreturn]] void die_like(int signal) {
  const rlimit no_core{0, 0};  // the target has already written its core file
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const auto& backend : backend::make_all()) {
    names.emplace_back(backend->descriptor().name);
  }
  return names;
}

class Record final : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.footer(
        "With -p PID, give no command. SIGUSR1 to gpuprof starts recording, SIGUSR2 stops it (but see --last).\n"
        "Exit code: that of the command; 126 if the command cannot be executed, 127 if it does not exist, 3 if "
        "--min-coverage is not reached, 1 if the profile cannot be written.");
    declare_target(app);
    declare_contents(app);
    declare_window(app);
    show_in_help(
        app, {"--output", "--pid", "--user", "--delay", "--duration", "--stalls", "--top", "--latency", "--timeline"});
    app.prefix_command();
  }

  Result<int> run() override {
    RETURN_IF_ERROR(take_command());
    RETURN_IF_ERROR(take_options());
    auto chosen =
        backend::choose(backend::make_all(), backends_, options_.sampling.samples && options_.attach_pid == 0);
    RETURN_IF_ERROR(chosen);
    options_.only_backends = only_backends(*chosen);
    warn_of_unnamed_kernels(*chosen);
    TopView view;
    options_.live = top_ ? &view : nullptr;
    if (top_ && screen_of_stderr(false).columns == 0) {
      log::warn("--top has no terminal for its view, so it prints a line every 5 s");
    }
    const auto result = record::run_session(options_, std::move(*chosen));
    RETURN_IF_ERROR(result);
    if (!result->file.empty()) {
      log::info("next: " + report_command(result->file));
    }
    if (WIFSIGNALED(result->wait_status)) {
      die_like(WTERMSIG(result->wait_status));
    }
    const int status = WEXITSTATUS(result->wait_status);
    if (Status enough = coverage_.check(result->covered, options_.stacks == record::StackChoice::none);
        status == 0 && !enough) {
      return std::move(enough).error();
    }
    return status;
  }

 private:
  // Warns that kernels will have no names, because the library that sends their code can be loaded only when a
  // program starts.
  void warn_of_unnamed_kernels(const backend::Backends& chosen) const {
    const bool named_by_other =
        std::any_of(chosen.begin(), chosen.end(), [](const auto& backend) { return !backend->code_from().empty(); });
    if (options_.sampling.samples && options_.attach_pid != 0 && named_by_other) {
      log::warn("sampled kernels of process " + std::to_string(options_.attach_pid) +
                    " have addresses instead of names and source lines",
                "names are available only for programs started with gpuprof record --backend drm --stalls -- COMMAND");
    }
  }

  // Returns the chosen backends, or "" if all that record by default are among them.
  [[nodiscard]] std::string only_backends(const backend::Backends& chosen) const {
    std::string names;
    for (const auto& backend : chosen) {
      if (!backend->is_code_only()) {
        names.append(names.empty() ? "" : ",").append(backend->descriptor().name);
      }
    }
    const backend::Backends all = backend::make_all();
    const bool lacks_one = std::any_of(all.begin(), all.end(), [this](const auto& backend) {
      return !backend->only_by_name() &&
             std::find(backends_.begin(), backends_.end(), backend->descriptor().name) == backends_.end();
    });
    return !backends_.empty() && lacks_one ? names : "";
  }

  void declare_target(CLI::App& app) {
    add_file_option(app, "-o,--output", options_.output,
                    "profile to write; - is stdout; %p pid, %h host, %r rank (default: gpuprof.txt)");
    expect_number(app.add_option("-p,--pid", options_.attach_pid, "record this running process instead of a command"),
                  1, INT32_MAX, "process id")
        ->type_name("PID");
    app.add_option("--user", options_.user, "run the command as this user, if gpuprof runs as root")->type_name("USER");
    app.add_flag("--preserve-env", options_.preserve_environment,
                 "with --user: give the command root's environment, not a new one for the user");
    expect_one_of(app.add_option("--stacks", stacks_, "how to capture CPU stacks (default: auto)"),
                  {"auto", "inproc", "bpf", "fp", "none"});
    suggest(app.add_option("--backend", backends_, "record only with these backends (default: all except drm)")
                ->delimiter(',')
                ->type_name("NAME,..."),
            backend_names());
    expect_one_of(app.add_option("--wait", wait_,
                                 "wait for all processes that use a GPU, or for the command only (default: all)"),
                  {"all", "main"});
    expect_percentage(
        app.add_option("--max-overhead", options_.max_overhead,
                       "record random windows only, to cost programs at most PCT % (default: record all)"),
        0.01, 100.0)
        ->type_name("PCT");
    app.add_option("--commit", options_.commit,
                   "commit to store, for gpuprof check (default: from CI variables or git)")
        ->type_name("TEXT");
    coverage_.declare(app);
  }

  void declare_contents(CLI::App& app) {
    add_duration_option(app, "--interval", options_.interval_ns,
                        "length of a time slice (default: 100ms, after the first minute 1s)", 10 * kMsNs,
                        86'400 * kRecordSecondNs);
    app.add_flag("--timeline", options_.timeline, "also store each event with its times; makes the profile larger");
    app.add_flag("--top", top_, "show a live view of the kernels and call paths with most GPU time");
    app.add_flag("--cpu{99}", options_.cpu_hz,
                 "sample threads N times per second of CPU time, or exactly by bpf (default: 99)")
        ->transform(CLI::Validator([this](std::string& given) { return take_cpu(given); }, ""))
        ->type_name("N|bpf[:N]");
    app.add_flag("--latency", options_.latency,
                 "also record histograms of launch latency: from API call to kernel start");
    expect_one_of(app.add_flag("--pc-sampling{continuous},--stalls{continuous}", sampling_,
                               "sample which GPU instructions run or stall, and why (default: continuous)"),
                  {"continuous", "exact"});
    auto* const counted =
        app.add_option("--sass-metrics", metrics_,
                       "count these CUPTI metrics or groups for each GPU instruction, without GPU times")
            ->delimiter(',')
            ->type_name("WHAT,...");
    suggest(counted, {"memory", "shared", "branches", "instructions"});
    expect_one_of(app.add_option("--probe", probe_, "run a probe in CUDA kernels: blocks records when each block ran"),
                  {"blocks"});
    kernel_.declare(app, "--kernel", "kernels that --pc-sampling=exact, --sass-metrics, --probe cover (default: all)");
    expect_number(app.add_option("--sample-every", options_.sampling.exact_every,
                                 "with --pc-sampling=exact: sample one of N launches of a kernel (default: 1)"),
                  1, 1'000'000'000)
        ->type_name("N");
    expect_number(app.add_option("--sampling-period", options_.sampling.period,
                                 "cycles between samples, a power of two (default: the driver's choice)"),
                  32, uint64_t{1} << 31U)
        ->type_name("CYCLES");
    expect_one_of(app.add_option("--graphs", graphs_,
                                 "record CUDA graphs node by node, or each launch as a whole (default: nodes)"),
                  {"nodes", "whole"});
  }

  void declare_window(CLI::App& app) {
    app.add_option("--nvtx-range", options_.nvtx_range, "record only work launched inside NVTX ranges of this name")
        ->type_name("NAME[@DOMAIN]");
    add_duration_option(app, "--delay", options_.recording.delay_ns,
                        "start recording this long after the command starts (default: 0)", 0,
                        1'000'000 * kRecordSecondNs);
    add_duration_option(app, "--duration", options_.recording.duration_ns,
                        "stop recording after this time (default: when the target ends)", kMsNs,
                        1'000'000 * kRecordSecondNs);
    app.add_flag("--start-paused", options_.recording.paused, "record nothing until gpuprof receives SIGUSR1");
    add_duration_option(app, "--last", options_.recent.last_ns,
                        "keep only the last TIME; SIGUSR2 writes it to another file (default: all)", kRecordSecondNs,
                        86'400 * kRecordSecondNs);
    app.add_option("--trigger", trigger_,
                   "with --last: write another file after a longer kernel, wait, gap, range or lag")
        ->delimiter(',')
        ->type_name("WHAT>TIME,...");
    add_duration_option(app, "--rotate", options_.recent.rotate_ns,
                        "begin a new file after each TIME; older ones are NAME.1.txt to NAME.N.txt", kRecordSecondNs,
                        86'400 * kRecordSecondNs);
    expect_number(
        app.add_option("--keep", options_.recent.keep, "with --rotate: keep the last N complete files (default: 24)"),
        1, 1000)
        ->type_name("N");
  }

  Status take_command() {
    options_.command = app_->remaining();
    if (!options_.command.empty() && options_.command.front() == "--") {
      options_.command.erase(options_.command.begin());
    }
    if (options_.command.empty() == (options_.attach_pid == 0)) {
      return Error{
          options_.attach_pid == 0 ? "record: no command to run" : "record: a command and -p PID cannot be combined",
          "gpuprof record -- ./app, or gpuprof record -p PID", kExitUsage};
    }
    if (!options_.command.empty() && options_.command.front().starts_with("-")) {
      Error error = unknown_option(*app_, options_.command.front());
      error.hint += "; a command goes after --";
      return error;
    }
    return {};
  }

  Status take_options() {
    if (options_.output.empty()) {
      options_.output = record::default_output();
    }
    if (options_.attach_pid != 0 && !options_.user.empty()) {
      return Error{"record: --user with -p PID", "--user is for a command: a running process already has a user",
                   kExitUsage};
    }
    if (options_.preserve_environment && options_.user.empty()) {
      return Error{"record: --preserve-env without --user", "without --user the command gets this environment anyway",
                   kExitUsage};
    }
    if (app_->count("--nvtx-range") != 0 && options_.nvtx_range.empty()) {
      return Error{"--nvtx-range: the name is empty", "leave the option out to record all work", kExitUsage};
    }
    if (options_.nvtx_range.size() > record::kMaxNvtxRange) {
      return Error{"--nvtx-range: the name is longer than " + std::to_string(record::kMaxNvtxRange) + " bytes",
                   "name an outer range", kExitUsage};
    }
    if (options_.recording.paused && options_.recording.delay_ns > 0) {
      return Error{"record: both --delay and --start-paused", "give one of them", kExitUsage};
    }
    options_.stacks = stacks_ == "bpf"      ? record::StackChoice::bpf
                      : stacks_ == "inproc" ? record::StackChoice::inproc
                      : stacks_ == "fp"     ? record::StackChoice::frame_pointers
                      : stacks_ == "none"   ? record::StackChoice::none
                                            : record::StackChoice::best;
    options_.wait_for_children = wait_ == "all";
    options_.whole_graphs = graphs_ == "whole";
    options_.sampling.samples = !sampling_.empty();
    options_.sampling.exact = sampling_ == "exact";
    RETURN_IF_ERROR(check_cpu());
    RETURN_IF_ERROR(take_probe());
    RETURN_IF_ERROR(take_exact());
    RETURN_IF_ERROR(take_last());
    return check_sampling();
  }

  // Takes the "bpf" or "bpf:" before the number, if there is one. Returns an error text, or an empty text.
  std::string take_cpu(std::string& given) {
    constexpr std::string_view kBpf = "bpf";
    const std::string all = given;
    options_.exact_off_cpu = given.starts_with(kBpf);
    if (given == kBpf) {
      given = "99";
    } else if (options_.exact_off_cpu && given[kBpf.size()] == ':') {
      given.erase(0, kBpf.size() + 1);
    }
    const auto hertz = whole_number(given);
    return hertz && *hertz >= 1 && *hertz <= 1000
               ? std::string()
               : "'" + escaped(all) + "' is not a whole number from 1 to 1000, or bpf, or bpf:N";
  }

  Status check_cpu() const {
    if (options_.cpu_hz == 0) {
      return {};
    }
    if (options_.stacks != record::StackChoice::best && options_.stacks != record::StackChoice::inproc) {
      return Error{"record: --cpu with --stacks=" + stacks_, "CPU samples need --stacks=inproc, the default",
                   kExitUsage};
    }
    for (const char* const other : {"--sass-metrics", "--max-overhead", "--nvtx-range"}) {
      if (app_->count(other) > 0) {
        return Error{
            "record: --cpu cannot be combined with " + std::string(other),
            "CPU samples explain idle time, which is unknown with " + std::string(other) + "; leave one of them out",
            kExitUsage};
      }
    }
    return {};
  }

  // Lines without a time describe the complete recording, so they cannot be in a file of a part of it.
  Status take_last() {
    record::RecentFiles::Options& recent = options_.recent;
    if (!trigger_.empty() && recent.last_ns == 0) {
      return Error{"record: --trigger without --last", "add --last 30s, the time to write", kExitUsage};
    }
    if (app_->count("--keep") > 0 && recent.rotate_ns == 0) {
      return Error{"record: --keep without --rotate", "add --rotate 10m, the time of each file", kExitUsage};
    }
    if (!recent.any()) {
      return {};
    }
    const std::string option = recent.last_ns != 0 ? "--last" : "--rotate";
    for (const char* const other : {"--latency", "--sass-metrics", "--max-overhead"}) {
      if (app_->count(other) > 0) {
        return Error{"record: " + option + " cannot be combined with " + other,
                     "it has numbers of the complete recording only; leave one of them out", kExitUsage};
      }
    }
    if (recent.last_ns != 0 && recent.rotate_ns != 0) {
      return Error{"record: both --last and --rotate", "give one of them", kExitUsage};
    }
    if (recent.last_ns != 0 && recent.last_ns < options_.grid().interval_ns) {
      return Error{"record: --last is shorter than --interval", "files have complete slices of --interval", kExitUsage};
    }
    if (recent.rotate_ns % options_.grid().interval_ns != 0) {
      return Error{"record: --rotate is not a multiple of --interval", "files have complete slices of --interval",
                   kExitUsage};
    }
    for (const std::string& one : trigger_) {
      RETURN_IF_ERROR(take_trigger(one));
    }
    return {};
  }

  Status take_trigger(const std::string& text) {
    constexpr std::string_view kRange = "range:";
    constexpr std::string_view kLag = "lag:";
    record::RecentFiles::Options& recent = options_.recent;
    const size_t at = text.rfind('>');
    const std::string what = text.substr(0, std::min(at, text.size()));
    const size_t colon = what.starts_with(kRange) ? kRange.size() : what.starts_with(kLag) ? kLag.size() : 0;
    const std::string range = colon == 0 ? "" : what.substr(colon);
    uint64_t* const limit = what == "kernel" ? &recent.trigger.kernel_ns
                            : what == "wait" ? &recent.trigger.wait_ns
                            : what == "idle" ? &recent.trigger.idle_ns
                            : range.empty()  ? nullptr
                            : what[0] == 'l' ? &recent.trigger.lag_ns
                                             : &recent.trigger.range_ns;
    const uint64_t ns = parse_duration(at == std::string::npos ? "" : text.substr(at + 1)).value_or(0);
    if (limit == nullptr || ns == 0) {
      return Error{"--trigger: '" + text + "' is not an event",
                   "events: kernel>5ms, wait>1s, idle>2s, range:STEP>100ms, lag:STEP>50ms; quote the '>' for the shell",
                   kExitUsage};
    }
    if (!range.empty() && !options_.timeline) {
      return Error{"record: --trigger " + what.substr(0, colon) + "NAME without --timeline",
                   "add --timeline, which records NVTX ranges", kExitUsage};
    }
    if (!range.empty() && !recent.range.empty() && recent.range != range) {
      return Error{"record: triggers on two NVTX ranges", "name one range", kExitUsage};
    }
    *limit = ns;
    recent.range = range.empty() ? recent.range : range;
    return {};
  }

  // Probes change the code that a program loads.
  Status take_probe() {
    options_.sampling.blocks = !probe_.empty();
    if (!options_.sampling.blocks) {
      return {};
    }
    if (options_.attach_pid != 0) {
      return Error{"record: --probe with -p PID", "only programs that gpuprof starts can be probed: record -- COMMAND",
                   kExitUsage};
    }
    if (options_.recording.paused || options_.recording.delay_ns > 0) {
      return Error{"record: --probe with --start-paused or --delay",
                   "code is probed when the program loads it, so record from the start; --duration ends the recording",
                   kExitUsage};
    }
    if (options_.sampling.samples || app_->count("--sass-metrics") > 0 || options_.max_overhead > 0 ||
        options_.whole_graphs) {
      return Error{
          "record: --probe cannot be combined with --pc-sampling, --sass-metrics, --max-overhead and "
          "--graphs=whole",
          "use a separate run", kExitUsage};
    }
    if (!backends_.empty() && std::find(backends_.begin(), backends_.end(), "cupti") == backends_.end()) {
      return Error{"record: --probe without the backend cupti",
                   "only CUDA kernels can be probed: add cupti to --backend", kExitUsage};
    }
    return {};
  }

  Status take_exact() {
    if (!options_.sampling.exact && app_->count("--sample-every") > 0) {
      return Error{"record: --sample-every chooses launches for --pc-sampling=exact", "add --pc-sampling=exact",
                   kExitUsage};
    }
    if (Status metrics = take_metrics(); !metrics || !kernel_.given()) {
      return metrics;
    }
    if (!options_.sampling.exact && !options_.sampling.counts() && !options_.sampling.blocks) {
      return Error{"record: --kernel chooses kernels for --pc-sampling=exact, --sass-metrics and --probe",
                   "add one of these; report --kernel REGEX chooses what is shown", kExitUsage};
    }
    std::optional<Pattern> kernel;
    RETURN_IF_ERROR(kernel_.take(kernel));
    if (kernel) {
      options_.sampling.chosen = [kernel = std::move(*kernel)](std::string_view name) {
        return kernel.matches(symbolize::demangle(name));
      };
    }
    return {};
  }

  Status take_metrics() {
    if (app_->count("--sass-metrics") == 0) {
      return {};
    }
    auto counted = record::counted_metrics(metrics_);
    RETURN_IF_ERROR(counted);
    if (options_.sampling.samples || options_.timeline || options_.latency || options_.whole_graphs) {
      return Error{"record: --sass-metrics cannot be combined with an option that needs GPU times",
                   "use a separate run: CUPTI cannot count instructions while it measures times", kExitUsage};
    }
    options_.sampling.counted = std::move(*counted);
    return {};
  }

  // A sample has no correlation id. It is apportioned among all kernels that ran, so all kernels must be recorded.
  Status check_sampling() const {
    if (options_.sampling.period != 0 && !options_.sampling.samples) {
      return Error{"record: --sampling-period without --pc-sampling", "add --pc-sampling", kExitUsage};
    }
    const uint32_t period = options_.sampling.period;
    if ((period & (period - 1)) != 0) {
      return Error{"--sampling-period: " + std::to_string(period) + " is not a power of two from 32 to 2147483648",
                   "try 4096, or leave the choice to the driver", kExitUsage};
    }
    if (options_.sampling.samples && !options_.nvtx_range.empty()) {
      return Error{"record: --pc-sampling and --nvtx-range cannot be combined",
                   "samples cover all GPU work; limit the time with --delay and --duration or with signals",
                   kExitUsage};
    }
    if (options_.sampling.samples && options_.whole_graphs) {
      return Error{"record: --pc-sampling cannot be combined with --graphs=whole",
                   "samples need the times of each node of a graph", kExitUsage};
    }
    return {};
  }

  record::SessionOptions options_;
  MinCoverage coverage_;
  bool top_ = false;
  std::string probe_;
  CLI::App* app_ = nullptr;
  std::vector<std::string> backends_;
  std::string stacks_ = "auto";
  std::string wait_ = "all";
  std::string graphs_ = "nodes";
  std::string sampling_;
  PatternOption kernel_;
  std::vector<std::string> metrics_;
  std::vector<std::string> trigger_;
};

}  // namespace

std::unique_ptr<Command> make_record() {
  return std::make_unique<Record>();
}

}  // namespace gpuprof::cmd
