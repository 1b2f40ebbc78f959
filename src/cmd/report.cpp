#include "output/report.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "analyze/summarize.h"
#include "base/files/file.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/stack_choices.h"
#include "cmd/terminal.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostLines = 1'000'000'000;

class Report : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    app.add_option("--top", top_, "lines in each table, 0 for all (default 20)")
        ->check(CLI::Range(size_t{0}, kMostLines));  // also keeps -1 from being taken for 2^64 - 1
    app.add_option("--width", width_, "of the tables, in characters (default: the terminal's)")
        ->check(CLI::Range(size_t{40}, kMaxWidth));
    app.add_flag("--json", json_, "print JSON");
    stacks_.declare(app);
    coverage_.declare(app);
  }

  Result<int> run() override {
    analyze::StackOptions stacks;
    if (Status chosen = stacks_.apply(stacks); !chosen) {
      return std::move(chosen).error();
    }
    auto reader = input_.open();
    if (!reader) {
      return std::move(reader).error();
    }
    auto rows = analyze::aggregate(*reader, {.host = true, .idle = true});
    if (!rows) {
      return std::move(rows).error();
    }
    warn_of_gaps(rows->info);
    const analyze::Summary summary = analyze::summarize(*rows, top_, stacks);
    stacks_.explain(summary.trimmed);
    const size_t width = width_ != 0 ? width_ : terminal_width();
    Status written = write_output("-", [&](TextStream& out) {
      json_ ? output::report_json(summary, out) : output::report_table(summary, width, out);
    });
    if (!written) {
      return std::move(written).error();
    }
    if (Status enough = coverage_.check(rows->info); !enough) {
      return std::move(enough).error();
    }
    if (rows->info.kind == analyze::ProfileKind::empty) {
      return no_gpu_work();
    }
    return 0;
  }

 private:
  Input input_;
  MinCoverage coverage_;
  StackChoices stacks_;
  size_t top_ = 20;
  size_t width_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_report() {
  return std::make_unique<Report>();
}

}  // namespace gpuprof::cmd
