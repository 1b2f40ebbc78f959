// gpuprof record [options] -- COMMAND [ARGS]      run a command and record it
// gpuprof record [options] -p PID                 count the launches of a running process

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>

#include "cmd/command.h"
#include "record/session.h"

namespace gpuprof::cmd {
namespace {

// The target was ended by a signal, and so are we: shells and CI then see what they would have seen without us.
[[noreturn]] void die_like(int signal) {
  const rlimit no_core{0, 0};  // the target has left the core file that matters
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

class Record final : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.footer(
        "Usage: gpuprof record [options] -- COMMAND [ARGS...]\n"
        "       gpuprof record [options] -p PID\n"
        "Exits as the command did. 127: the command was not found, 126: it cannot be run.");
    app.add_option("-o,--output", options_.output,
                   "profile to write; - for stdout; %p process, %h host, %r rank (default gpuprof.txt; an existing "
                   "file is kept as FILE.old)")
        ->type_name("FILE");
    app.add_option("-p,--pid", options_.attach_pid, "count the launches of this running process (needs eBPF)")
        ->type_name("PID");
    app.add_option("--user", options_.user, "run the command as this user (with sudo)")->type_name("NAME");
    app.add_option("--stacks", stacks_, "auto, bpf or none: where CPU stacks come from (default auto)")
        ->check(CLI::IsMember({"auto", "bpf", "none"}))
        ->type_name("ENGINE");
    app.add_option("--interval", interval_, "length of a time slice in seconds (default 1)")
        ->check(CLI::Range(0.01, 86400.0))
        ->type_name("SECONDS");
    app.add_option("--wait", wait_,
                   "all or main: after the command's end, wait for processes of it that still use a GPU, or not "
                   "(default all)")
        ->check(CLI::IsMember({"all", "main"}))
        ->type_name("WHOM");
    app.prefix_command();
  }

  Result<int> run() override {
    options_.command = app_->remaining();
    if (!options_.command.empty() && options_.command.front() == "--") {
      options_.command.erase(options_.command.begin());
    }
    if (options_.command.empty() == (options_.attach_pid == 0)) {
      return Error{options_.attach_pid == 0 ? "record: no command to run" : "record: both a command and -p PID",
                   "gpuprof record -- ./app, or gpuprof record -p PID", kExitUsage};
    }
    if (!options_.command.empty() && options_.command.front().starts_with("-")) {
      return Error{"record: unknown option '" + options_.command.front() + "'",
                   "gpuprof record --help lists the options; a command goes after --", kExitUsage};
    }
    options_.stacks = stacks_ == "bpf"    ? record::StackChoice::bpf
                      : stacks_ == "none" ? record::StackChoice::none
                                          : record::StackChoice::best;
    options_.interval_ns = static_cast<uint64_t>(interval_ * 1e9);
    options_.wait_for_children = wait_ == "all";
    const auto status = record::run_session(options_);
    if (!status) {
      return status.error();
    }
    if (WIFSIGNALED(*status)) {
      die_like(WTERMSIG(*status));
    }
    return WEXITSTATUS(*status);
  }

 private:
  record::SessionOptions options_;
  CLI::App* app_ = nullptr;
  std::string stacks_ = "auto";
  std::string wait_ = "all";
  double interval_ = 1.0;
};

}  // namespace

std::unique_ptr<Command> make_record() {
  return std::make_unique<Record>();
}

}  // namespace gpuprof::cmd
