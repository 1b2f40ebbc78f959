#include "output/ranks/ranks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>

#include "analyze/merge/merge.h"
#include "analyze/rows/no_work.h"
#include "analyze/subsets/subset_meta.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/common/options.h"
#include "cmd/common/output.h"
#include "cmd/common/sources.h"
#include "cmd/common/stack_choices.h"
#include "cmd/common/terminal.h"

namespace gpuprof::cmd {
namespace {

constexpr int kExitLag = 1;
constexpr int kExitInconclusive = 125;
constexpr size_t kRanksPlainWidth = 100;
constexpr double kPercent = 100;
constexpr const char* kCollectives = "nccl|rccl|onccl|oneccl|msccl|AllReduce|all_?reduce|allreduce|[Bb]arrier";

class Ranks : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("FILES", files_, kSourcesHelp)->required()->expected(-1);
    app.add_option("--collective", collective_,
                   "kernels, NVTX ranges and waits that are collectives (default: NCCL, RCCL ...)")
        ->type_name("REGEX");
    expect_one_of(
        app.add_option("--by", by_, "what to compare (default: rank, from the job launcher's environment variables)"),
        {"rank", "pid", "host"});
    expect_percentage(app.add_option("--min-effect", least_percent_,
                                     "ignore lags below this percentage of the others' time (default: 5)"),
                      0.1, 1000.0)
        ->type_name("PCT");
    add_top_option(app, top_, "rows in the table of ranks, 0 for all (default: 16)");
    add_width_option(app, width_, 40);
    app.add_flag("--json", json_, "print JSON");
    add_file_option(app, "--svg", svg_, "draw ranks over time into this file; - is stdout");
    add_lenient_flag(app, lenient_);
    stacks_.declare(app);
    show_in_help(app, {"FILES", "--collective", "--by", "--min-effect", "--top", "--json", "--svg"});
    app.footer(
        "A rank lags if it works longer before collectives than the other ranks, which wait for it.\n"
        "Exit codes: 0 no rank lags, 1 a rank lags, 2 unusable profiles, 125 inconclusive.");
  }

  Result<int> run() override {
    auto code = look();
    if (!code && code.error().exit_code == kExitFailure) {
      Error error = std::move(code).error();
      error.exit_code = kExitUsage;  // the exit code 1 reports a rank that lags behind
      return error;
    }
    return code;
  }

 private:
  Result<int> look() {
    const std::string regex = collective_.empty() ? kCollectives : collective_;
    auto pattern = Pattern::compile("--collective", regex);
    RETURN_IF_ERROR(pattern);
    analyze::JobOptions options{.collective = std::move(pattern).value(),
                                .by = by_ == "pid"    ? analyze::RankBy::pid
                                      : by_ == "host" ? analyze::RankBy::host
                                                      : analyze::RankBy::rank,
                                .stacks = {}};
    RETURN_IF_ERROR(stacks_.apply(options.stacks));
    auto inputs = open_sources(files_, lenient_, read_);
    RETURN_IF_ERROR(inputs);
    RETURN_IF_ERROR(may_write(svg_.empty() ? "-" : svg_, read_));
    analyze::Job job(std::move(options));
    const auto merged =
        analyze::merge(std::move(inputs).value(), [&job](const profile::Record& record) { return job.take(record); });
    RETURN_IF_ERROR(merged);
    for (const std::string& warning : merged->warnings) {
      log::warn(warning);
    }
    job.finish();
    RETURN_IF_ERROR(check(job));
    const auto verdict = analyze::judge_job(job, {.least_effect = least_percent_ / kPercent});
    RETURN_IF_ERROR(write({.job = job,
                           .verdict = verdict,
                           .collective = regex,
                           .notes = notes(job),
                           .top = top_,
                           .width = width_ != 0 ? width_ : terminal_width(kRanksPlainWidth)}));
    return !verdict.inconclusive.empty() ? kExitInconclusive : verdict.laggards.empty() ? 0 : kExitLag;
  }

  // Checks that the profile has what the comparison of ranks needs. The hint names the option of `record` that is
  // missing.
  [[nodiscard]] Status check(const analyze::Job& job) const {
    if (job.ranks().empty() && job.without_rank() > 0) {
      return Error{"the profile names no " + by_ +
                       "s: none of the job launcher's environment variables (RANK, OMPI_COMM_WORLD_RANK, "
                       "PMI_RANK, SLURM_PROCID ...) was set",
                   "record the job through its launcher, such as mpirun, or compare processes: --by pid", kExitUsage};
    }
    if (job.ranks().empty()) {
      if (job.info().launches > 0) {
        return Error{"the profile has launch counts but no GPU times, so ranks cannot be compared",
                     "record the job from its start: gpuprof record -- COMMAND", kExitUsage};
      }
      return analyze::no_work(job.info(), "the profile", kExitUsage);
    }
    if (job.ranks().size() == 1) {
      return Error{"there is only one " + by_ + ": nothing to compare it with",
                   "name the profiles of all ranks, or the folder that they are in", kExitUsage};
    }
    if (job.grid().interval_ns == 0) {
      return Error{"the length of the profile's time slices is unknown: META interval_ns is missing",
                   "record it again with `gpuprof record`", kExitUsage};
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> notes(const analyze::Job& job) const {
    std::vector<std::string> notes;
    if (const std::string part = job.part(); !part.empty()) {
      notes.push_back("The profile is a subset of another: " + escaped(part) + ".");
    }
    if (const std::string recorded = analyze::recorded_part_text(job.info().meta); !recorded.empty()) {
      notes.push_back("Recorded " + recorded + ".");
    }
    if (job.info().is_estimate()) {
      notes.push_back("All " + job.info().estimate_text() + ".");
    }
    if (job.collectives() == 0) {
      notes.emplace_back(
          "No collective was found: ranks are compared by their GPU time, and it is unknown who waits for whom. Name "
          "collectives with --collective REGEX" +
          std::string(job.has_waits() ? "." : ". The profile has no waits of the CPU."));
    }
    if (job.without_rank() > 0) {
      notes.push_back("Left out: " + counted_text(job.without_rank(), "record") + " of processes without a " + by_ +
                      ".");
    }
    const auto is_sum = [](const analyze::JobRank& rank) { return rank.processes.size() > 1; };
    const auto& ranks = job.ranks();
    if (const auto sums = std::count_if(ranks.begin(), ranks.end(), is_sum); sums > 0 && by_ == "rank") {
      const analyze::JobRank& first = *std::find_if(ranks.begin(), ranks.end(), is_sum);
      notes.push_back(counted_text(static_cast<uint64_t>(sums), "rank") + (sums == 1 ? " is" : " are") +
                      " the sum of several processes with GPU work: rank " + escaped(first.name) + " of " +
                      std::to_string(first.processes.size()) + ".");
    }
    if (const uint64_t bad = job.info().sum_of_meta(analyze::kSkippedBadKey); bad > 0) {
      notes.push_back("Left out: " + counted_text(bad, "line") + " that could not be read.");
    }
    if (job.lost() > 0) {
      notes.push_back(counted_text(job.lost(), "record") + " lost: `gpuprof report` says which.");
    }
    return notes;
  }

  [[nodiscard]] Status write(const output::RanksView& view) const {
    if (!svg_.empty()) {
      const std::string picture = output::ranks_svg(view);
      log::info(output::verdict_line(view));
      return write_file(svg_, "open it in a browser", [&](TextStream& out) { out.append(picture); });
    }
    return write_output(
        "-", [&](TextStream& out) { json_ ? output::ranks_json(view, out) : output::ranks_text(view, out); });
  }

  std::vector<std::string> files_;
  std::vector<FileId> read_;
  StackChoices stacks_;
  std::string collective_;
  std::string by_ = "rank";
  std::string svg_;
  double least_percent_ = 5;
  size_t top_ = 16;
  size_t width_ = 0;
  bool json_ = false;
  bool lenient_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ranks() {
  return std::make_unique<Ranks>();
}

}  // namespace gpuprof::cmd
