#include "output/latency.h"

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "analyze/subsets/subset_meta.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/pattern_option.h"
#include "cmd/common/stack_choices.h"
#include "cmd/common/terminal.h"

namespace gpuprof::cmd {
namespace {

class Latency : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    app.add_flag("--paths", options_.paths, "show a histogram for each call path, not only for each kernel");
    kernel_.declare(app, "--kernel", "show only kernels whose name matches");
    add_top_option(app, options_.top, "kernels or call paths to show, 0 for all (default: 10)");
    add_width_option(app, width_, 40);
    app.add_flag("--json", json_, "print JSON");
    stacks_.declare(app);
    show_in_help(app, {"--input", "--paths", "--kernel", "--top", "--json"});
    app.footer(
        "Phases of a launch: from the API call until the driver queued it, from queued to submitted, from "
        "submitted to kernel start, and the total from call to start. Histogram rows are powers of two. Bars are "
        "scaled per column. Percentiles are at most 12.5% too "
        "high. Options for stacks (--root, --hide ...) need --paths.");
  }

  Result<int> run() override {
    std::optional<Pattern> kernel;
    RETURN_IF_ERROR(kernel_.take(kernel));
    if (kernel) {
      options_.wanted = [pattern = *kernel](const std::string& name) { return pattern.matches(name); };
    }
    if (stacks_.any() && !options_.paths) {
      return Error{std::string(StackChoices::kNames) + " need --paths", "without --paths no stacks are shown",
                   kExitUsage};
    }
    RETURN_IF_ERROR(stacks_.apply(options_.stacks));
    auto reader = input_.open();
    RETURN_IF_ERROR(reader);
    auto rows = analyze::aggregate(*reader, {.latency = true});
    RETURN_IF_ERROR(rows);
    rows->info.only_in_windows = true;
    warn_of_gaps(rows->info);
    if (rows->latencies.empty()) {
      return rows->info.kind == analyze::ProfileKind::empty
                 ? no_gpu_work(rows->info, rows->tables)
                 : Error{"the profile has no launch latencies",
                         has_all_work(analyze::subset_of(rows->info.meta))
                             ? "a subset by time leaves them out: use the complete profile, if it has them"
                             : "record them with `gpuprof record --latency`",
                         kExitNothing};
    }
    analyze::StackView::Trimmed trimmed;
    size_t found = 0;
    const auto lines = analyze::latency_lines(*rows, options_, &trimmed, &found);
    stacks_.explain(trimmed);
    if (lines.size() < found) {
      log::info("the first " + std::to_string(lines.size()) + " of " + std::to_string(found) +
                " lines; --top 0 shows all");
    }
    const size_t width = width_ != 0 ? width_ : terminal_width();
    Status written = write_output("-", [&](TextStream& out) {
      json_ ? output::latency_json(lines, rows->info, out) : output::latency_table(lines, width, out);
    });
    RETURN_IF_ERROR(written);
    if (lines.empty()) {
      return Error{"no kernel's name matches '" + kernel_.text() + "'", "`gpuprof report` lists the kernels",
                   kExitNothing};
    }
    return 0;
  }

 private:
  Input input_;
  analyze::LatencyOptions options_{.top = 10};
  PatternOption kernel_;
  StackChoices stacks_;
  size_t width_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_latency() {
  return std::make_unique<Latency>();
}

}  // namespace gpuprof::cmd
