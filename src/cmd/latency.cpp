#include "output/latency.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/files/file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/stack_choices.h"
#include "cmd/common/terminal.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostLatencyLines = 1'000'000'000;

class Latency : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    app.add_flag("--paths", options_.paths, "a histogram for each call path, not only for each kernel");
    app.add_option("--kernel", kernel_, "only kernels whose name this regular expression matches")->type_name("REGEX");
    app.add_option("--top", options_.top, "kernels or call paths to show, 0 for all (default 10)")
        ->check(CLI::Range(size_t{0}, kMostLatencyLines));
    app.add_option("--width", width_, "of the tables, in characters (default: the terminal's)")
        ->check(CLI::Range(size_t{40}, kMaxWidth));
    app.add_flag("--json", json_, "print JSON");
    stacks_.declare(app);
    show_in_help(app, {"--input", "--paths", "--kernel", "--top", "--json"});
    app.footer(
        "Phases: call to queued (from the API call to when the driver queued the work), queued to submitted, "
        "submitted to start, and call to start, the whole way. Rows of a histogram are powers of two; the bars of "
        "each column are in proportion to its longest one. Percentiles are at most an eighth too high. "
        "What is shown of stacks (--root, --hide ...) can be chosen with --paths only.");
  }

  Result<int> run() override {
    if (!kernel_.empty()) {
      auto pattern = Pattern::compile("--kernel", kernel_);
      RETURN_IF_ERROR(pattern);
      options_.wanted = [pattern = std::move(pattern).value()](const std::string& name) {
        return pattern.matches(name);
      };
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
    warn_of_gaps(rows->info);
    if (rows->latencies.empty()) {
      return rows->info.kind == analyze::ProfileKind::empty
                 ? no_gpu_work(rows->tables)
                 : Error{"the profile has no launch latencies", "record them with `gpuprof record --latency`",
                         kExitNothing};
    }
    analyze::StackView::Trimmed trimmed;
    const auto lines = analyze::latency_lines(*rows, options_, &trimmed);
    stacks_.explain(trimmed);
    const size_t width = width_ != 0 ? width_ : terminal_width();
    Status written = write_output("-", [&](TextStream& out) {
      json_ ? output::latency_json(lines, out) : output::latency_table(lines, width, out);
    });
    RETURN_IF_ERROR(written);
    if (lines.empty()) {
      return Error{"no kernel's name matches '" + kernel_ + "'", "`gpuprof report` lists the kernels", kExitNothing};
    }
    return 0;
  }

 private:
  Input input_;
  analyze::LatencyOptions options_{.top = 10};
  std::string kernel_;
  StackChoices stacks_;
  size_t width_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_latency() {
  return std::make_unique<Latency>();
}

}  // namespace gpuprof::cmd
