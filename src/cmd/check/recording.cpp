#include "cmd/check/recording.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/files/output_file.h"
#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/process/pidfd.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"
#include "base/text/numbers.h"
#include "record/signals.h"

namespace gpuprof::cmd {
namespace {

constexpr int kExitBySignal = 128;  // as in shells, the exit code after a signal is 128 + its number

Error system_error(const std::string& what, std::string hint) {
  return {what + ": " + std::strerror(errno), std::move(hint), kExitUsage};
}

// Opens the file for the output of a recorded command, because gpuprof's own standard output has only the result.
Result<UniqueFd> open_log(const OwnFolder& folder, const std::string& file) {
  auto log = OutputFile::open_in(folder.fd(), file, {});
  RETURN_IF_ERROR(log);
  RETURN_IF_ERROR(log->commit());
  return log->take_fd();
}

// The file of a profile, which a `record` process writes through its descriptor. Gets its name after the recording.
class ProfileFile {
 public:
  static Result<ProfileFile> open(const OwnFolder& folder, const std::string& file) {
    auto output = OutputFile::open_in(folder.fd(), file, {.keep_old = true, .mode = 0644, .stop = {}});
    RETURN_IF_ERROR(output);
    UniqueFd fd = output->take_fd();
    return ProfileFile(std::move(*output), std::move(fd));
  }

  [[nodiscard]] int fd() const { return fd_.get(); }

  // Returns true if `record` ended before it started the command: every other recording has at least a first line.
  [[nodiscard]] bool is_empty() const {
    struct stat info {};
    return ::fstat(fd_.get(), &info) != 0 || info.st_size == 0;
  }

  // Even a failed recording may have a profile.
  Status finish() { return is_empty() ? Status() : output_.commit(); }

 private:
  ProfileFile(OutputFile output, UniqueFd fd) : output_(std::move(output)), fd_(std::move(fd)) {}

  OutputFile output_;
  UniqueFd fd_;
};

[[noreturn]] void become(const std::vector<std::string>& words, int log, int profile, const sigset_t& mask) {
  // This child ends if gpuprof dies, because nobody would read its profile.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const UniqueFd nothing = open_device("/dev/null");
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::fcntl(profile, F_SETFD, 0);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): for execv()
  }
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(kExitNotExecutable);
}

// Returns a text such as "exit status 3" or "signal 9 (Killed)", or "" for success.
std::string failure_text(int status) {
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  }
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

class Runner {
 public:
  Runner(const RunPlan& plan, std::shared_ptr<const OwnFolder> folder, record::Signals signals)
      : plan_(plan), folder_(std::move(folder)), signals_(std::move(signals)) {}

  Result<RecordedRuns> run() {
    RETURN_IF_ERROR(reject_other_runs());
    recorded_.files.resize(plan_.sides.size());
    total_ = (plan_.warmup + plan_.runs) * plan_.sides.size();
    for (size_t round = 0; round < plan_.warmup + plan_.runs; ++round) {
      for (size_t place = 0; place < plan_.sides.size(); ++place) {
        // The sides take turns in going first, so that drift affects both equally.
        const size_t side = round % 2 == 0 ? place : plan_.sides.size() - 1 - place;
        RETURN_IF_ERROR(one_run(side, round));
        if (stopped_ != 0) {
          return stopped_error();
        }
        if (!recorded_.failures.empty() && done_ <= plan_.sides.size()) {
          return std::move(recorded_);  // later runs would fail like the first one
        }
      }
    }
    return std::move(recorded_);
  }

 private:
  // Rejects a folder with runs of an earlier check that this check would not replace: old-*.txt would mix both.
  Status reject_other_runs() {
    const auto names = folder_->names();
    RETURN_IF_ERROR(names);
    for (const std::string& name : *names) {
      for (const RunSide& side : plan_.sides) {
        const std::string begin = side.name + "-";
        size_t number = 0;
        const char* const digits = name.data() + std::min(begin.size(), name.size());
        const auto parsed = std::from_chars(digits, name.data() + name.size(), number);
        if (name.starts_with(begin) && std::string_view(parsed.ptr) == ".txt" && number > plan_.runs) {
          return Error{folder_->path_of(name) + " is a run of an earlier check, which had more runs",
                       "remove it, or name another folder", kExitUsage};
        }
      }
    }
    return {};
  }

  Status one_run(size_t side, size_t round) {
    const bool warms_up = round < plan_.warmup;
    const RunSide& what = plan_.sides[side];
    const std::string number = std::to_string(warms_up ? round + 1 : round + 1 - plan_.warmup);
    const std::string name = what.name + (warms_up ? "-warmup-" : "-") + number;
    const std::string file = folder_->path_of(name);
    auto log = open_log(*folder_, file + ".log");
    RETURN_IF_ERROR(log);
    auto profile = ProfileFile::open(*folder_, file + ".txt");  // of a warm-up run, it disappears without finish()
    RETURN_IF_ERROR(profile);
    std::vector<std::string> words = {"gpuprof", "record", "-q", "-o", "/dev/fd/" + std::to_string(profile->fd())};
    words.insert(words.end(), plan_.record_options.begin(), plan_.record_options.end());
    if (!what.commit.empty()) {
      words.push_back("--commit=" + what.commit);
    }
    words.emplace_back("--");
    words.insert(words.end(), what.command.begin(), what.command.end());
    const uint64_t begin = monotonic_ns();
    const auto status = record(words, log->get(), profile->fd());
    RETURN_IF_ERROR(status);
    if (WIFEXITED(*status) && WEXITSTATUS(*status) == kExitUsage && profile->is_empty()) {
      return Error{"gpuprof record rejects its options or the command", file + ".log says why", kExitUsage};
    }
    RETURN_IF_ERROR(warms_up ? Status() : profile->finish());
    ++done_;
    const std::string failure = failure_text(*status);
    log::info("run " + std::to_string(done_) + " of " + std::to_string(total_) + ", " + name + ": " +
              (failure.empty() ? duration_text(monotonic_ns() - begin) : failure));
    if (!failure.empty()) {
      recorded_.failures.push_back("run " + name + " failed with " + failure + ": see " + file + ".log");
    } else if (!warms_up) {
      recorded_.files[side].push_back({file + ".txt", folder_});
    }
    return {};
  }

  Result<int> record(const std::vector<std::string>& words, int log, int profile) {
    const pid_t pid = ::fork();
    if (pid < 0) {
      return system_error("cannot start a recording", hints::kMoreProcesses);
    }
    if (pid == 0) {
      become(words, log, profile, signals_.original_mask());
    }
    const UniqueFd ended = open_pidfd(pid);
    if (!ended) {
      Error error = system_error("cannot watch a recording", hints::kMoreFiles);
      ::kill(pid, SIGTERM);
      ::waitpid(pid, nullptr, 0);
      return error;
    }
    while (!has_ended(ended)) {
      std::array<pollfd, 2> fds = {{{ended.get(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}}};
      ::poll(fds.data(), fds.size(), -1);
      pass_signals(pid);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }

  // Passes signals on to the recording `pid`. It then ends its command and completes its profile. `check` ends after
  // it.
  void pass_signals(pid_t pid) {
    while (const auto event = signals_.next()) {
      if (record::is_stop(event->signal)) {
        stopped_ = event->signal;
        if (!event->from_terminal) {
          ::kill(pid, event->signal);
        }
      }
    }
  }

  [[nodiscard]] Error stopped_error() const {
    return {"stopped by signal " + std::to_string(stopped_) + " (" + ::strsignal(stopped_) + ") after " +
                std::to_string(done_ - 1) + " of " + counted_text(total_, "run"),
            "there is no verdict; the profiles of complete runs are in " + folder_->path(), kExitBySignal + stopped_};
  }

  const RunPlan& plan_;
  std::shared_ptr<const OwnFolder> folder_;
  record::Signals signals_;
  RecordedRuns recorded_;
  size_t total_ = 0;
  size_t done_ = 0;
  int stopped_ = 0;
};

}  // namespace

Result<RecordedRuns> record_runs(const RunPlan& plan, const std::shared_ptr<const OwnFolder>& folder) {
  auto signals = record::Signals::block();
  if (!signals) {
    return Error{signals.error().message, signals.error().hint, kExitUsage};
  }
  return Runner(plan, folder, std::move(*signals)).run();
}

Result<OwnFolder> folder_for_runs(const std::string& name) {
  if (!name.empty()) {
    return OwnFolder::open(name, IfMissing::make);
  }
  const time_t now = ::time(nullptr);
  tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 64> text{};
  ::strftime(text.data(), text.size(), "gpuprof-check-%Y%m%d-%H%M%S", &parts);
  for (int again = 1;; ++again) {
    auto made = OwnFolder::make(text.data() + (again == 1 ? "" : "-" + std::to_string(again)));
    RETURN_IF_ERROR(made);
    if (*made) {
      return std::move(**made);
    }
  }
}

}  // namespace gpuprof::cmd
