// gpuprof check [OPTIONS] OLD... -- NEW...                     compares recorded profiles, one per run
// gpuprof check [OPTIONS] --runs K -- COMMAND --- COMMAND      records both commands and compares them
// gpuprof check [OPTIONS] --self K -- COMMAND                  measures the noise of one command
// gpuprof check [OPTIONS] --baseline FOLDER ...                compares with an earlier commit
// gpuprof check [OPTIONS] --function REGEX --max TIME FILE...  checks an absolute budget

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "cmd/check/arguments.h"
#include "cmd/check/baseline.h"
#include "cmd/check/inputs.h"
#include "cmd/check/outputs.h"
#include "cmd/check/recording.h"
#include "cmd/command.h"
#include "cmd/common/options.h"
#include "cmd/common/stack_choices.h"
#include "compare/comparable.h"
#include "compare/judge/budget.h"
#include "compare/judge/judge.h"
#include "record/session/meta/source_commit.h"

namespace gpuprof::cmd {
namespace {

using compare::Judgement;
using compare::Outcome;
using compare::Run;
using Runs = std::vector<Run>;

constexpr size_t kMostRuns = 1000;

class Check final : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.footer(
        "Usage: gpuprof check [OPTIONS] OLD... -- NEW...\n"
        "       gpuprof check [OPTIONS] --runs K -- COMMAND --- COMMAND\n"
        "       gpuprof check [OPTIONS] --self K -- COMMAND\n"
        "       gpuprof check [OPTIONS] --baseline FOLDER [--save] --runs K -- COMMAND\n"
        "       gpuprof check [OPTIONS] --function REGEX --max TIME FILE...\n"
        "Exit codes: 0 pass, 1 regression, 2 unusable input, 125 inconclusive (git bisect run skips the commit).");
    declare_runs(app);
    declare_baseline(app);
    declare_judgement(app);
    outputs_.declare(app);
    stacks_.declare(app);
    app.prefix_command();
  }

  // Runs the command. Each failure has an exit code that differs from the one for a regression.
  Result<int> run() override {
    try {
      auto code = run_as_asked();
      if (code) {
        return code;
      }
      Error error = unusable(std::move(code).error());
      // A CI system shows the error even if the test report is all that it shows.
      if (outputs_usable_ && outputs_.may_write(opened_)) {
        if (const Status written = outputs_.write_error(error); !written) {
          log::warn(written.error().message);
        }
      }
      return error;
    } catch (const std::exception& error) {  // most likely, memory is exhausted
      return Error{error.what(), "", kExitUsage};
    }
  }

 private:
  void declare_runs(CLI::App& app) {
    expect_number(app.add_option("--runs", runs_, "record each command this many times, alternating, and compare"), 1,
                  kMostRuns)
        ->type_name("K");
    expect_number(app.add_option("--self", self_runs_, "record one command this many times and measure its noise"), 1,
                  kMostRuns)
        ->type_name("K");
    expect_number(app.add_option("--warmup", warmup_, "number of first runs of each command to discard (default: 1)"),
                  0, kMostRuns)
        ->type_name("N");
    add_file_option(app, "-o,--output", folder_, "folder for recorded profiles (default: gpuprof-check-DATE-TIME)")
        ->type_name("FOLDER");
    app.add_option("--record", record_options_,
                   "option for gpuprof record, such as --record=--graphs=whole; repeatable")
        ->type_name("OPTION")
        ->allow_extra_args(false);
  }

  void declare_baseline(CLI::App& app) {
    add_file_option(app, "--baseline", baseline_, "compare with an earlier commit, whose profiles are in this folder")
        ->type_name("FOLDER");
    app.add_flag("--save", save_, "with --baseline: store the new profiles if they pass or are the first");
    app.add_option("--commit", commit_, "commit of the new runs (default: from CI variables or git)")
        ->type_name("TEXT");
    app.add_option("--old-commit", old_commit_, "with --runs: commit of the old command (default: unknown)")
        ->type_name("TEXT");
  }

  void declare_judgement(CLI::App& app) {
    expect_percentage(app.add_option("--material", options_.material_percent,
                                     "ignore differences of at most this percentage (default: 2)"),
                      0.0, 1e6)
        ->type_name("PCT");
    expect_percentage(app.add_option("--min-effect", options_.min_effect_percent,
                                     "inconclusive unless the runs rule out a slowdown of this size (default: 25)"),
                      0.0, 1e6)
        ->type_name("PCT");
    expect_percentage(app.add_option("--max-loss", options_.max_loss_percent,
                                     "inconclusive if a run lost more than this percentage of its work (default: 1)"),
                      0.0, 100.0)
        ->type_name("PCT");
    add_file_option(app, "--thresholds", thresholds_, "file of allowed slowdowns: name, percentage, last day, reason");
    app.add_option("--function", function_, "with --max: functions that the budget covers")->type_name("REGEX");
    app.add_option("--kernel", kernel_, "with --max: kernels that the budget covers")->type_name("REGEX");
    add_measure_option(app, budget_.measure, "with --max: times that the budget limits (default: sum, the GPU time)");
    app.add_option("--max", max_, "budget: most time that a run may spend in these functions or kernels")
        ->type_name("TIME");
  }

  Result<int> run_as_asked() {
    arguments_ = app_->remaining();
    RETURN_IF_ERROR(check_options());
    RETURN_IF_ERROR(check_arguments());
    RETURN_IF_ERROR(outputs_.usable(is_budget(), folder_));
    outputs_usable_ = true;
    RETURN_IF_ERROR(prepare());
    return is_budget()          ? run_budget()
           : self_runs_ > 0     ? run_self()
           : !baseline_.empty() ? run_baseline()
           : runs_ > 0          ? run_commands()
                                : run_files();
  }

  [[nodiscard]] bool is_budget() const { return !function_.empty() || !kernel_.empty() || !max_.empty(); }

  [[nodiscard]] Status check_options() const {
    if (is_budget() && (max_.empty() || function_.empty() == kernel_.empty())) {
      return check_usage("a budget is --function REGEX --max TIME, or --kernel REGEX --max TIME",
                         "gpuprof check --function solve --max 250ms gpuprof.txt");
    }
    if ((runs_ > 0 && self_runs_ > 0) || (self_runs_ > 0 && (is_budget() || !baseline_.empty()))) {
      return check_usage("--self gives no verdict, because it records only one side",
                         "leave out --runs, --baseline and --max");
    }
    const size_t least_runs = self_runs_ > 0 ? compare::kLeastRunsForNoise : options_.min_runs;
    if (const size_t runs = self_runs_ + runs_; runs > 0 && runs < least_runs && !is_budget()) {
      return check_usage(
          counted_text(runs, "run").append(" ").append(is_or_are(runs)) +
              (self_runs_ > 0 ? " too few: --self needs at least " : " too few: a verdict needs at least ") +
              std::to_string(least_runs) + (self_runs_ > 0 || !baseline_.empty() ? "" : " of each command"),
          "with 5 or 8 runs, a verdict can show smaller differences");
    }
    if (budget_.measure != analyze::Measure::gpu && !is_budget()) {
      return check_usage("--weight applies only to a budget", "`gpuprof diff` compares other weights");
    }
    if (save_ && baseline_.empty()) {
      return check_usage("--save without --baseline", "--baseline FOLDER says where profiles are kept");
    }
    if (is_budget() && !baseline_.empty()) {
      return check_usage("both a budget and --baseline", "run `gpuprof check` twice, once with each of them");
    }
    if (runs_ == 0 && self_runs_ == 0 && (!folder_.empty() || !record_options_.empty())) {
      return check_usage("-o and --record apply only to runs that `gpuprof check` itself records",
                         "--runs K -- COMMAND --- COMMAND");
    }
    return check_commits();
  }

  [[nodiscard]] Status check_commits() const {
    const bool records = runs_ > 0 || self_runs_ > 0;
    if (!commit_.empty() && !records && baseline_.empty()) {
      return check_usage("--commit applies only to --baseline, and to runs that `gpuprof check` itself records",
                         "recorded profiles contain their commit");
    }
    if (!old_commit_.empty() && (runs_ == 0 || is_budget() || !baseline_.empty())) {
      return check_usage("--old-commit applies to the first of two commands", "--runs K -- COMMAND --- COMMAND");
    }
    if (std::any_of(record_options_.begin(), record_options_.end(),
                    [](const std::string& option) { return option.starts_with("--commit"); })) {
      return check_usage("--record=--commit would give both sides the same commit",
                         "use --commit TEXT for the new side, --old-commit TEXT for the old side");
    }
    return {};
  }

  [[nodiscard]] Status check_arguments() const {
    if (arguments_.empty()) {
      return check_usage("nothing to check", "gpuprof check OLD... -- NEW..., or --runs K -- COMMAND --- COMMAND");
    }
    RETURN_IF_ERROR(check_no_options(*app_, {arguments_.front()}));
    if (runs_ > 0 || self_runs_ > 0) {
      return {};  // the arguments are commands, and the checks below are for files
    }
    const auto inputs = std::count(arguments_.begin(), arguments_.end(), "-");
    if (inputs + (thresholds_ == "-" ? 1 : 0) > 1) {
      return check_usage("standard input is named more than once", "write one of the files to disk");
    }
    if (save_ && inputs > 0) {
      return check_usage("--save cannot keep standard input, which can be read only once",
                         "write the profile to a file, and name that file");
    }
    return {};
  }

  Status prepare() {
    RETURN_IF_ERROR(stacks_.apply(stack_options_));
    RETURN_IF_ERROR(save_ ? Baseline(baseline_).can_save() : Status());
    if (is_budget()) {
      const auto most = parse_duration(max_);
      if (!most) {
        return check_usage("--max '" + escaped(max_) + "' is not a time",
                           "times are like 250ms, 1.5s, or 2 for seconds");
      }
      if (*most == 0) {
        return check_usage("--max 0 allows no GPU time at all", "name a time, such as --max 1us");
      }
      budget_.of_function = !function_.empty();
      budget_.regex = function_.empty() ? kernel_ : function_;
      budget_.max_ns = *most;
      const auto pattern = Pattern::compile(budget_.option(), budget_.regex);
      return pattern ? Status() : Status(pattern.error());
    }
    if (thresholds_.empty()) {
      return {};
    }
    auto thresholds = read_thresholds(thresholds_);
    RETURN_IF_ERROR(thresholds);
    options_.thresholds = std::move(*thresholds);
    return {};
  }

  Result<RecordedRuns> record(std::vector<RunSide> sides, size_t runs) {
    const RunPlan plan{.sides = std::move(sides), .runs = runs, .warmup = warmup_, .record_options = record_options_};
    auto folder = folder_for_runs(folder_);
    RETURN_IF_ERROR(folder);
    kept_in_ = std::make_shared<const OwnFolder>(std::move(*folder));
    return record_runs(plan, kept_in_);
  }

  // If runs fail, the result is inconclusive, because the successful runs may have done less work than the failed
  // ones.
  Result<int> conclude(const compare::Comparison& runs, Judgement judgement, const std::vector<std::string>& failures) {
    judgement.reasons.insert(judgement.reasons.begin(), failures.begin(), failures.end());
    if (!failures.empty()) {
      judgement.outcome = Outcome::inconclusive;
    }
    RETURN_IF_ERROR(outputs_.may_write(opened_));
    RETURN_IF_ERROR(outputs_.write(runs, judgement));
    report_folder();
    return static_cast<int>(judgement.outcome);
  }

  void report_folder() const {
    if (kept_in_ != nullptr) {
      log::info("the profiles are in " + kept_in_->place());
    }
  }

  Result<int> nothing_to_judge(const std::vector<std::string>& reasons) {
    Judgement judgement;
    judgement.reasons = reasons;
    return conclude({}, std::move(judgement), {});
  }

  Result<int> compare_runs(const Runs& old_runs, const Runs& new_runs, const std::vector<std::string>& failures) {
    const compare::Comparison runs = compare::compare(old_runs, new_runs);
    return conclude(runs, compare::judge(runs, options_), failures);
  }

  Result<int> run_files() {
    const auto sides = two_sides_of_files(*app_, arguments_);
    RETURN_IF_ERROR(sides);
    RunReader reader(stack_options_, opened_);
    auto old_files = named_files(sides->old_words);
    const auto old_runs = reader.read(old_files);
    RETURN_IF_ERROR(old_runs);
    auto new_files = named_files(sides->new_words);
    const auto new_runs = reader.read(new_files);
    RETURN_IF_ERROR(new_runs);
    return compare_runs(*old_runs, *new_runs, {});
  }

  // Reads the profiles of new runs. If a profile cannot be read, its run counts as failed.
  Runs read_recorded(RunReader& reader, std::vector<RunFile>& files, std::vector<std::string>& failures) {
    Runs runs;
    for (RunFile& file : files) {
      auto run = reader.read(file, files.size());
      if (run) {
        runs.push_back(std::move(*run));
      } else {
        failures.push_back(run.error().message);
      }
    }
    return runs;
  }

  Result<int> run_commands() {
    const auto commands = two_commands(arguments_);
    RETURN_IF_ERROR(commands);
    // `record` cannot find the commit of the old program. So without --old-commit, it is unknown.
    const std::string old_commit = old_commit_.empty() ? std::string(record::kNoCommit) : old_commit_;
    auto recorded = record({{"old", commands->old_words, old_commit}, {"new", commands->new_words, commit_}}, runs_);
    RETURN_IF_ERROR(recorded);
    RunReader reader(stack_options_, opened_);
    const Runs old_runs = read_recorded(reader, recorded->files[0], recorded->failures);
    const Runs new_runs = read_recorded(reader, recorded->files[1], recorded->failures);
    return old_runs.empty() || new_runs.empty() ? nothing_to_judge(recorded->failures)
                                                : compare_runs(old_runs, new_runs, recorded->failures);
  }

  Result<int> run_self() {
    auto command = one_command(arguments_);
    RETURN_IF_ERROR(command);
    auto recorded = record({{"run", std::move(*command), commit_}}, self_runs_);
    RETURN_IF_ERROR(recorded);
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
    std::vector<RunFile> files;
    std::vector<std::string> failures;
  };

  // Reads the profiles to compare with a baseline or a budget. With --runs, first records the command.
  Result<NewSide> new_side(RunReader& reader, const char* name) {
    NewSide side;
    if (runs_ > 0) {
      auto command = one_command(arguments_);
      RETURN_IF_ERROR(command);
      auto recorded = record({{name, std::move(*command), commit_}}, runs_);
      RETURN_IF_ERROR(recorded);
      side.files = std::move(recorded->files[0]);
      side.failures = std::move(recorded->failures);
      side.runs = read_recorded(reader, side.files, side.failures);
      return side;
    }
    auto names = files_of_one_side(*app_, arguments_);
    RETURN_IF_ERROR(names);
    side.files = named_files(*names);
    auto runs = reader.read(side.files);
    RETURN_IF_ERROR(runs);
    side.runs = std::move(*runs);
    return side;
  }

  Result<int> run_baseline() {
    RunReader reader(stack_options_, opened_);
    auto side = new_side(reader, "new");
    RETURN_IF_ERROR(side);
    if (side->runs.empty()) {
      return nothing_to_judge(side->failures);
    }
    compare::RunFacts like = side->runs.front().facts;
    if (!commit_.empty()) {
      like.commit = commit_ == record::kNoCommit ? "" : commit_;
    }
    const Baseline baseline(baseline_);
    auto kept = baseline.newest(like);
    RETURN_IF_ERROR(kept);
    const std::vector<std::string> unfit =
        save_ ? compare::incomparable(compare::compare(side->runs, {}), options_, true) : std::vector<std::string>();
    auto code = *kept ? compare_with(**kept, reader, *side) : without_baseline(*side, unfit);
    if (!code || !save_) {
      return code;
    }
    // Runs become the baseline if they passed, or if there was nothing to compare them with. Runs that cannot be
    // compared must not become the baseline, because every later check would be inconclusive.
    const char* hindrance = !side->failures.empty() ? "a run failed"
                            : !unfit.empty()        ? "these runs cannot be compared with others"
                            : *kept && *code != static_cast<int>(Outcome::pass) ? "these runs did not pass"
                                                                                : nullptr;
    if (hindrance != nullptr) {
      log::info("not kept as a baseline, because " + std::string(hindrance));
      return code;
    }
    const auto place = baseline.keep(like, side->files);
    RETURN_IF_ERROR(place);
    log::info("kept as a baseline" + std::string(*kept ? "" : " for later commits") + ": " + *place);
    return code;
  }

  Result<int> compare_with(BaselineRuns& kept, RunReader& reader, const NewSide& side) {
    const auto old_runs = reader.read(kept.files);
    RETURN_IF_ERROR(old_runs);
    log::info((kept.commit.empty() ? "the commit of the baseline is unknown, "
                                   : "the baseline is commit " + kept.commit + ", ") +
              kept.folder);
    return compare_runs(*old_runs, side.runs, side.failures);
  }

  // `unfit` holds the reasons why these runs cannot become a baseline.
  Result<int> without_baseline(const NewSide& side, const std::vector<std::string>& unfit) {
    std::vector<std::string> reasons = side.failures;
    reasons.push_back("nothing was compared: " + baseline_ +
                      " has no profiles of another commit with these devices and this driver" +
                      (save_ ? "" : " (--save keeps the new profiles)"));
    for (const std::string& reason : unfit) {
      reasons.push_back("not kept: " + reason);
    }
    return nothing_to_judge(reasons);
  }

  Result<int> run_budget() {
    RunReader reader(stack_options_, opened_, budget_.measure);
    const auto side = new_side(reader, "run");
    RETURN_IF_ERROR(side);
    auto result = compare::check_budget(side->runs, budget_, options_.max_loss_percent);
    RETURN_IF_ERROR(result);
    result->reasons.insert(result->reasons.begin(), side->failures.begin(), side->failures.end());
    if (result->outcome == Outcome::pass && !side->failures.empty()) {
      result->outcome = Outcome::inconclusive;
    }
    RETURN_IF_ERROR(outputs_.may_write(opened_));
    RETURN_IF_ERROR(outputs_.write(budget_, *result));
    report_folder();
    return static_cast<int>(result->outcome);
  }

  CLI::App* app_ = nullptr;
  Arguments arguments_;
  size_t runs_ = 0;
  size_t self_runs_ = 0;
  size_t warmup_ = 1;
  std::string folder_;
  Arguments record_options_;
  std::string baseline_;
  bool save_ = false;
  std::string commit_;
  std::string old_commit_;
  compare::JudgeOptions options_;
  std::string thresholds_;
  std::string function_;
  std::string kernel_;
  std::string max_;
  compare::Budget budget_;
  CheckOutputs outputs_;
  bool outputs_usable_ = false;  // `outputs_` were checked
  StackChoices stacks_;
  analyze::StackOptions stack_options_;
  std::vector<FileId> opened_;
  std::shared_ptr<const OwnFolder> kept_in_;
};

}  // namespace

std::unique_ptr<Command> make_check() {
  return std::make_unique<Check>();
}

}  // namespace gpuprof::cmd
