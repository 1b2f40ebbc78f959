// gpuprof check [options] OLD... -- NEW...                     recorded profiles, one a run
// gpuprof check [options] --runs K -- COMMAND --- COMMAND      records them, and judges
// gpuprof check [options] --self K -- COMMAND                  what could be seen at all
// gpuprof check [options] --baseline FOLDER ...                against an earlier commit
// gpuprof check [options] --function REGEX --max TIME FILE...  an absolute budget

#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/numbers.h"
#include "cmd/check/baseline.h"
#include "cmd/check/budget.h"
#include "cmd/check/inputs.h"
#include "cmd/check/outputs.h"
#include "cmd/check/recording.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/stack_choices.h"
#include "compare/comparable.h"
#include "compare/judge.h"

namespace gpuprof::cmd {
namespace {

using compare::Judgement;
using compare::Outcome;
using compare::Run;
using Runs = std::vector<Run>;
using Words = std::vector<std::string>;

constexpr size_t kMostRuns = 1000;
constexpr size_t kMostThresholdBytes = size_t{1} << 20U;

Error usage(const std::string& message, std::string hint) {
  return {"check: " + message, std::move(hint), kExitUsage};
}

std::string today() {
  return utc_text(::time(nullptr), "%Y-%m-%d");
}

// What lies on both sides of the only `mark`, neither of it empty.
std::optional<std::pair<Words, Words>> split_at(const Words& words, const std::string& mark) {
  const auto at = std::find(words.begin(), words.end(), mark);
  if (at == words.end() || at == words.begin() || at + 1 == words.end() ||
      std::find(at + 1, words.end(), mark) != words.end()) {
    return std::nullopt;
  }
  return std::pair{Words(words.begin(), at), Words(at + 1, words.end())};
}

class Check final : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.footer(
        "Usage: gpuprof check [options] OLD... -- NEW...\n"
        "       gpuprof check [options] --runs K -- COMMAND --- COMMAND\n"
        "       gpuprof check [options] --self K -- COMMAND\n"
        "       gpuprof check [options] --baseline FOLDER [--save] --runs K -- COMMAND\n"
        "       gpuprof check [options] --function REGEX --max TIME FILE...\n"
        "Exit codes: 0 pass, 1 regression, 2 unusable input, 125 inconclusive (git bisect run skips it).");
    declare_runs(app);
    declare_baseline(app);
    declare_judgement(app);
    outputs_.declare(app);
    stacks_.declare(app);
    app.prefix_command();
  }

  // Whatever goes wrong, the exit code is not that of a regression.
  Result<int> run() override {
    try {
      auto code = run_as_asked();
      return code ? std::move(code) : Result<int>(unusable(std::move(code).error()));
    } catch (const std::exception& error) {  // out of memory, most likely
      return Error{error.what(), "", kExitUsage};
    }
  }

 private:
  void declare_runs(CLI::App& app) {
    app.add_option("--runs", runs_, "record each command so many times, taking turns, and compare them")
        ->check(CLI::Range(size_t{1}, kMostRuns))
        ->type_name("K");
    app.add_option("--self", self_runs_, "record one command so many times: its noise, and what could be seen above it")
        ->check(CLI::Range(size_t{2}, kMostRuns))
        ->type_name("K");
    app.add_option("--warmup", warmup_, "runs of each command before them, which do not count (default 1)")
        ->check(CLI::Range(size_t{0}, kMostRuns))
        ->type_name("N");
    add_file_option(app, "-o,--output", folder_,
                    "folder for the profiles that are recorded (default a new one, gpuprof-check-DATE-TIME)")
        ->type_name("FOLDER");
    app.add_option("--record", record_options_, "an option for `gpuprof record`: --record=--graphs=whole; repeatable")
        ->type_name("OPTION")
        ->allow_extra_args(false);
  }

  void declare_baseline(CLI::App& app) {
    add_file_option(
        app, "--baseline", baseline_,
        "compare with profiles kept in this folder: the newest of another commit, of the same devices and driver")
        ->type_name("FOLDER");
    app.add_flag("--save", save_, "keep the new profiles there, unless they are a regression");
    app.add_option("--commit", commit_, "commit of the new side, for --baseline (default as `record` finds it)")
        ->type_name("TEXT");
  }

  void declare_judgement(CLI::App& app) {
    app.add_option("--material", options_.material_percent, "a difference of this or less is none (default 2)")
        ->check(CLI::Range(0.0, 1e6))
        ->type_name("PCT");
    app.add_option(
           "--min-effect", options_.min_effect_percent,
           "a slowdown of this much must have been seen, had there been one; else it is inconclusive (default 25)")
        ->check(CLI::Range(0.0, 1e6))
        ->type_name("PCT");
    app.add_option("--max-loss", options_.max_loss_percent,
                   "of a run's GPU work that may have been lost; more is inconclusive (default 1)")
        ->check(CLI::Range(0.0, 100.0))
        ->type_name("PCT");
    add_file_option(app, "--thresholds", thresholds_,
                    "file that says what may be slower, by how much, until when and why");
    app.add_option("--function", function_, "with --max: functions, by a regular expression (POSIX extended)")
        ->type_name("REGEX");
    app.add_option("--kernel", kernel_, "with --max: kernels, by a regular expression (POSIX extended)")
        ->type_name("REGEX");
    app.add_option("--max", max_, "GPU time that a run may spend below these functions, or in these kernels: 250ms")
        ->type_name("TIME");
  }

  Result<int> run_as_asked() {
    words_ = app_->remaining();
    if (Status usable = check_options(); !usable) {
      return std::move(usable).error();
    }
    if (Status usable = outputs_.usable(is_budget()); !usable) {
      return std::move(usable).error();
    }
    if (Status prepared = prepare(); !prepared) {
      return std::move(prepared).error();
    }
    return is_budget()          ? run_budget()
           : self_runs_ > 0     ? run_self()
           : !baseline_.empty() ? run_baseline()
           : runs_ > 0          ? run_commands()
                                : run_files();
  }

  [[nodiscard]] bool is_budget() const { return !function_.empty() || !kernel_.empty() || !max_.empty(); }

  [[nodiscard]] Status check_options() const {
    if (is_budget() && (max_.empty() || function_.empty() == kernel_.empty())) {
      return usage("a budget is --function REGEX --max TIME, or --kernel REGEX --max TIME",
                   "gpuprof check --function solve --max 250ms gpuprof.txt");
    }
    if ((runs_ > 0 && self_runs_ > 0) || (self_runs_ > 0 && (is_budget() || !baseline_.empty()))) {
      return usage("--self has one side alone, and judges nothing", "leave --runs, --baseline and --max out");
    }
    if (save_ && baseline_.empty()) {
      return usage("--save without --baseline", "--baseline FOLDER says where profiles are kept");
    }
    if (is_budget() && !baseline_.empty()) {
      return usage("both a budget and --baseline", "check them one after the other");
    }
    if (runs_ == 0 && self_runs_ == 0 && (!folder_.empty() || !record_options_.empty())) {
      return usage("-o and --record are for runs that check records", "--runs K -- COMMAND --- COMMAND");
    }
    if (words_.empty()) {
      return usage("nothing to check", "gpuprof check OLD... -- NEW..., or --runs K -- COMMAND --- COMMAND");
    }
    if (words_.front().size() > 1 && words_.front().starts_with("-") && words_.front() != "--") {
      return usage("unknown option '" + words_.front() + "'", "gpuprof check --help lists the options");
    }
    return {};
  }

  // What is wrong with files and expressions is found out before anything is recorded.
  Status prepare() {
    if (Status chosen = stacks_.apply(stack_options_); !chosen) {
      return chosen;
    }
    if (is_budget()) {
      const auto most = parse_duration(max_, 0);
      if (!most) {
        return usage("--max '" + max_ + "' is no time", "for example --max 250ms, or --max 1.5s");
      }
      budget_ = {!function_.empty(), function_.empty() ? kernel_ : function_, *most};
      const auto pattern = analyze::Pattern::compile(function_.empty() ? "--kernel" : "--function", budget_.regex);
      return pattern ? Status() : Status(pattern.error());
    }
    return thresholds_.empty() ? Status() : read_thresholds();
  }

  Status read_thresholds() {
    const auto fd = open_input(thresholds_);
    if (!fd) {
      return Error{fd.error().message, "--thresholds names the file", kExitUsage};
    }
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 0;
         text.size() < kMostThresholdBytes && (got = ::read(fd->get(), piece.data(), piece.size())) > 0;) {
      text.append(piece.data(), static_cast<size_t>(got));
    }
    std::vector<std::string> expired;
    auto thresholds = compare::parse_thresholds(text, thresholds_, today(), expired);
    if (!thresholds) {
      return std::move(thresholds).error();
    }
    for (const std::string& line : expired) {
      log::warn(line);
    }
    options_.thresholds = std::move(*thresholds);
    return {};
  }

  // The one command that is recorded, of options that take one.
  Result<Words> one_command() const {
    Words command = words_;
    if (command.front() == "--") {
      command.erase(command.begin());
    }
    if (command.empty() || std::find(command.begin(), command.end(), "---") != command.end()) {
      return usage("one command is wanted", "gpuprof check --self 10 -- ./app");
    }
    return command;
  }

  Result<RecordedRuns> record(std::vector<RunSide> sides, size_t runs) {
    RunPlan plan{.sides = std::move(sides),
                 .runs = runs,
                 .warmup = warmup_,
                 .folder = folder_.empty() ? fresh_folder() : folder_,
                 .record_options = record_options_};
    if (!commit_.empty()) {
      plan.record_options.push_back("--commit=" + commit_);
    }
    kept_in_ = plan.folder;
    return record_runs(plan);
  }

  // Judged or not, runs that failed leave no verdict: those which ended well may be the ones that did less.
  Result<int> conclude(const compare::Comparison& runs, Judgement judgement, const Words& failures) {
    judgement.reasons.insert(judgement.reasons.begin(), failures.begin(), failures.end());
    if (!failures.empty()) {
      judgement.outcome = Outcome::inconclusive;
    }
    if (Status may = outputs_.may_write(opened_); !may) {
      return std::move(may).error();
    }
    if (Status written = outputs_.write(runs, judgement); !written) {
      return std::move(written).error();
    }
    if (!kept_in_.empty()) {
      log::info("the profiles are in " + kept_in_);
    }
    return static_cast<int>(judgement.outcome);
  }

  // Without any run of one side there is nothing to put side by side.
  Result<int> nothing_to_judge(const Words& reasons) {
    Judgement judgement;
    judgement.reasons = reasons;
    return conclude({}, std::move(judgement), {});
  }

  Result<int> compare_runs(const Runs& old_runs, const Runs& new_runs, const Words& failures) {
    const compare::Comparison runs = compare::compare(old_runs, new_runs);
    return conclude(runs, compare::judge(runs, options_), failures);
  }

  Result<int> run_files() {
    const auto sides = split_at(words_, "--");
    if (!sides) {
      return usage("two sides are wanted: profiles of old runs, --, profiles of new runs",
                   "gpuprof check old-*.txt -- new-*.txt; --runs K records them itself");
    }
    RunReader reader(stack_options_, opened_);
    const auto old_runs = reader.read(sides->first);
    if (!old_runs) {
      return old_runs.error();
    }
    const auto new_runs = reader.read(sides->second);
    if (!new_runs) {
      return new_runs.error();
    }
    return compare_runs(*old_runs, *new_runs, {});
  }

  // Profiles of runs that were just recorded: what is wrong with one is a failure of that run.
  Runs read_recorded(RunReader& reader, const Words& files, Words& failures) {
    Runs runs;
    for (const std::string& file : files) {
      auto run = reader.read({file});
      if (run) {
        runs.push_back(std::move(run->front()));
      } else {
        failures.push_back(run.error().message);
      }
    }
    return runs;
  }

  Result<int> run_commands() {
    const Words words(words_.begin() + (words_.front() == "--" ? 1 : 0), words_.end());
    const auto commands = split_at(words, "---");
    if (!commands) {
      return usage("two commands are wanted, with --- between them",
                   "gpuprof check --runs 5 -- ./old-app --- ./new-app; for one command: --self, --baseline or --max");
    }
    auto recorded = record({{"old", commands->first}, {"new", commands->second}}, runs_);
    if (!recorded) {
      return std::move(recorded).error();
    }
    RunReader reader(stack_options_, opened_);
    const Runs old_runs = read_recorded(reader, recorded->files[0], recorded->failures);
    const Runs new_runs = read_recorded(reader, recorded->files[1], recorded->failures);
    return old_runs.empty() || new_runs.empty() ? nothing_to_judge(recorded->failures)
                                                : compare_runs(old_runs, new_runs, recorded->failures);
  }

  Result<int> run_self() {
    auto command = one_command();
    if (!command) {
      return std::move(command).error();
    }
    auto recorded = record({{"run", std::move(*command)}}, self_runs_);
    if (!recorded) {
      return std::move(recorded).error();
    }
    RunReader reader(stack_options_, opened_);
    const Runs runs = read_recorded(reader, recorded->files[0], recorded->failures);
    if (runs.empty()) {
      return nothing_to_judge(recorded->failures);
    }
    const compare::Comparison alone = compare::compare(runs, {});
    return conclude(alone, compare::judge_self(alone, options_), recorded->failures);
  }

  struct NewSide {
    Runs runs;
    Words files;
    Words failures;
  };

  // Of --baseline and budgets: profiles, or with --runs those of a command.
  Result<NewSide> new_side(RunReader& reader, const char* name) {
    NewSide side;
    if (runs_ > 0) {
      auto command = one_command();
      if (!command) {
        return std::move(command).error();
      }
      auto recorded = record({{name, std::move(*command)}}, runs_);
      if (!recorded) {
        return std::move(recorded).error();
      }
      side.files = std::move(recorded->files[0]);
      side.failures = std::move(recorded->failures);
      side.runs = read_recorded(reader, side.files, side.failures);
      return side;
    }
    side.files = words_;
    std::erase(side.files, "--");
    auto runs = reader.read(side.files);
    if (!runs) {
      return std::move(runs).error();
    }
    side.runs = std::move(*runs);
    return side;
  }

  Result<int> run_baseline() {
    RunReader reader(stack_options_, opened_);
    auto side = new_side(reader, "new");
    if (!side) {
      return std::move(side).error();
    }
    if (side->runs.empty()) {
      return nothing_to_judge(side->failures);
    }
    compare::RunFacts like = side->runs.front().facts;
    like.commit = commit_.empty() ? like.commit : commit_;
    const Baseline baseline(baseline_);
    const auto kept = baseline.newest(like);
    if (!kept) {
      return kept.error();
    }
    const Words unfit = save_ ? compare::incomparable(compare::compare(side->runs, {}), options_, true) : Words();
    auto code = *kept ? compare_with(**kept, reader, *side) : without_baseline(*side, unfit);
    if (!code || !save_) {
      return code;
    }
    // What was not found to be as fast as before must not become what later commits are measured by.
    // Nor what nothing can be compared with: each later check would be inconclusive, and keep nothing better.
    if (!side->failures.empty() || !unfit.empty() || (*kept && *code != static_cast<int>(Outcome::pass))) {
      log::info("not kept as a baseline");
      return code;
    }
    const auto place = baseline.keep(like, side->files);
    if (!place) {
      return place.error();
    }
    log::info("kept as a baseline: " + *place);
    return code;
  }

  Result<int> compare_with(const KeptRuns& kept, RunReader& reader, const NewSide& side) {
    const auto old_runs = reader.read(kept.files);
    if (!old_runs) {
      return old_runs.error();
    }
    log::info("the baseline is commit " + kept.commit + ", " + kept.folder);
    return compare_runs(*old_runs, side.runs, side.failures);
  }

  // `unfit`: why these runs are not kept as one.
  Result<int> without_baseline(const NewSide& side, const Words& unfit) {
    Words reasons = side.failures;
    reasons.push_back("nothing was compared: " + baseline_ +
                      " has no profiles of another commit with these devices and this driver" +
                      (save_ ? "" : " (--save keeps these)"));
    for (const std::string& reason : unfit) {
      reasons.push_back("not kept: " + reason);
    }
    return nothing_to_judge(reasons);
  }

  Result<int> run_budget() {
    RunReader reader(stack_options_, opened_);
    const auto side = new_side(reader, "run");
    if (!side) {
      return side.error();
    }
    auto result = hold_to_budget(side->runs, budget_, options_.max_loss_percent);
    if (!result) {
      return std::move(result).error();
    }
    result->reasons.insert(result->reasons.begin(), side->failures.begin(), side->failures.end());
    if (result->outcome == Outcome::pass && !side->failures.empty()) {
      result->outcome = Outcome::inconclusive;
    }
    if (Status may = outputs_.may_write(opened_); !may) {
      return std::move(may).error();
    }
    if (Status written = outputs_.write(budget_, *result); !written) {
      return std::move(written).error();
    }
    return static_cast<int>(result->outcome);
  }

  CLI::App* app_ = nullptr;
  Words words_;  // files or commands
  size_t runs_ = 0;
  size_t self_runs_ = 0;
  size_t warmup_ = 1;
  std::string folder_;
  Words record_options_;
  std::string baseline_;
  bool save_ = false;
  std::string commit_;
  compare::JudgeOptions options_;
  std::string thresholds_;
  std::string function_;
  std::string kernel_;
  std::string max_;
  Budget budget_;
  CheckOutputs outputs_;
  StackChoices stacks_;
  analyze::StackOptions stack_options_;
  std::vector<FileId> opened_;
  std::string kept_in_;  // the profiles that were recorded
};

}  // namespace

std::unique_ptr<Command> make_check() {
  return std::make_unique<Check>();
}

}  // namespace gpuprof::cmd
