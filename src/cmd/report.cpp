#include "output/report/report.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "analyze/rows/summarize.h"
#include "base/files/file.h"
#include "base/return_if_error.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/pattern_option.h"
#include "cmd/common/stack_choices.h"
#include "cmd/common/terminal.h"
#include "cmd/common/window.h"

namespace gpuprof::cmd {
namespace {

// Limits of the tables, before the report is shortened to fit on a screen. No screen has space for larger tables.
constexpr analyze::SummaryOptions::Limits kScreen{.work = 16, .functions = 50, .paths = 8, .others = 4};

constexpr size_t kScreenLines = 60;
constexpr size_t kReportWidth = 80;

class Report : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    top_option_ =
        add_top_option(app, top_, "rows in each table, 0 for all (default: as many as fit in a report of 60 lines)");
    expect_one_of(app.add_option("--sort", sort_, "order of kernels and call paths (default: time)"),
                  {"time", "calls", "avg", "max"});
    by_option_ = suggest(app.add_option("--by", by_, "add a table of GPU time by this dimension")->type_name("WHAT"),
                         analyze::dimension_list());
    kernel_.declare(app, "--kernel", "show only work whose name matches");
    path_.declare(app, "--path", "show only work from call paths with a frame that matches");
    window_.declare(app);
    app.add_flag("--full", shape_.full, "show names and call paths in full, whatever the width");
    add_width_option(app, shape_.width, kReportWidth);
    app.add_flag("--explain", shape_.explain, "explain each stall reason: meaning, usual causes, what to try");
    app.add_flag("--json", json_, "print JSON");
    stacks_.declare(app);
    coverage_.declare(app);
  }

  Result<int> run() override {
    RETURN_IF_ERROR(choose());
    auto reader = input_.open();
    RETURN_IF_ERROR(reader);
    auto rows = analyze::aggregate(*reader, {.host = true,
                                             .idle = true,
                                             .blocks = true,
                                             .squares = true,
                                             .durations = true,
                                             .stall_slices = true,
                                             .window = window_.chosen()});
    RETURN_IF_ERROR(rows);
    warn_of_gaps(rows->info);
    const analyze::Summary summary = analyze::summarize(*rows, options_);
    stacks_.explain(summary.trimmed);
    const bool has_nothing = rows->info.kind == analyze::ProfileKind::empty && summary.counted.empty();
    if (window_.chosen() && rows->no_rows() && !has_nothing) {
      return window_.nothing(*rows, "work");
    }
    if (summary.nothing_matches() && rows->info.kind != analyze::ProfileKind::empty) {
      return nothing_matches();
    }
    Status written = write_output("-", [&](TextStream& out) {
      json_ ? output::report_json(summary, out) : output::report_text(summary, shape_, out);
    });
    RETURN_IF_ERROR(written);
    if (Status covered = coverage_.check(rows->info); !covered) {
      return after_report(std::move(covered).error());
    }
    if (has_nothing) {
      return after_report(no_gpu_work(rows->info, rows->tables));
    }
    return 0;
  }

 private:
  Status choose() {
    RETURN_IF_ERROR(window_.check());
    RETURN_IF_ERROR(stacks_.apply(options_.stacks));
    options_.stacks.lines = true;
    options_.chains = !json_ && !shape_.full;
    RETURN_IF_ERROR(kernel_.take(options_.kernel));
    RETURN_IF_ERROR(path_.take(options_.path));
    options_.sort = sort_ == "calls" ? analyze::SortBy::calls
                    : sort_ == "avg" ? analyze::SortBy::average
                    : sort_ == "max" ? analyze::SortBy::max
                                     : analyze::SortBy::time;
    if (by_option_->count() > 0) {
      options_.by = analyze::dimension_of(by_);
      if (!options_.by) {
        return Error{"--by: unknown value '" + by_ + "'", "it is one of " + analyze::dimension_words("and"),
                     kExitUsage};
      }
    }
    options_.limits =
        top_option_->count() == 0 && !json_ ? kScreen : analyze::SummaryOptions::Limits{top_, top_, top_, top_};
    shape_.lines = top_option_->count() == 0 && !shape_.full ? kScreenLines : 0;
    shape_.from_start = options_.stacks.from_start;
    shape_.width = shape_.width != 0 ? shape_.width : terminal_width(kReportWidth);
    shape_.colors = terminal_colors();
    return {};
  }

  // Replaces a hint to run `gpuprof report`, because that has just run.
  static Error after_report(Error error) {
    if (error.hint.starts_with("`gpuprof report`")) {
      error.hint = "the report shows what this recording saw and missed";
    }
    return error;
  }

  [[nodiscard]] Error nothing_matches() const {
    const std::string options = kernel_.as_typed() + path_.as_typed() + (window_.chosen() ? " " + window_.text() : "");
    return {"no work matches" + options, "`gpuprof report --top 0 --full` lists all kernels and call paths",
            kExitNothing};
  }

  Input input_;
  MinCoverage coverage_;
  StackChoices stacks_;
  Window window_;
  analyze::SummaryOptions options_;
  output::ReportOptions shape_{.width = 0};
  const CLI::Option* top_option_ = nullptr;
  const CLI::Option* by_option_ = nullptr;
  size_t top_ = 20;  // only for --json
  std::string by_;
  std::string sort_;
  PatternOption kernel_;
  PatternOption path_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_report() {
  return std::make_unique<Report>();
}

}  // namespace gpuprof::cmd
