#include "output/compare/diff.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analyze/merge/recordings.h"
#include "analyze/subsets/subset_meta.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/output.h"
#include "cmd/common/pattern_option.h"
#include "cmd/common/sources.h"
#include "cmd/common/stack_choices.h"
#include "cmd/common/terminal.h"
#include "compare/comparability_warnings.h"
#include "compare/comparison.h"
#include "compare/run.h"

namespace gpuprof::cmd {
namespace {

using compare::Run;

constexpr const char* kSides = "--";
constexpr const char* kSidesHint = "gpuprof diff OLD NEW, or of several runs: gpuprof diff OLD... -- NEW...";
constexpr size_t kPlainWidth = 80;

// The files to compare. The first `old_files` files are the old side, and the others are the new side.
struct Sides {
  std::vector<std::string> files;
  size_t old_files = 0;
};

class Diff : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.allow_extras();
    add_top_option(app, top_, "rows in each table, 0 for all (default: 6)");
    add_width_option(app, width_, 40);
    kernel_.declare(app, "--kernel", "compare only kernels whose name matches");
    path_.declare(app, "--path", "compare only call paths with a function that matches");
    app.add_flag("--full", full_, "show kernel names in full");
    add_measure_option(app, measure_, "times to compare (default: sum, the GPU time)");
    auto* const json = app.add_flag("--json", json_, "print JSON");
    auto* const markdown = app.add_flag("--markdown", markdown_, "print Markdown for a pull request");
    auto* const folded = app.add_flag("--folded", folded_, "print folded stacks with two columns: old and new");
    json->excludes(markdown)->excludes(folded);
    markdown->excludes(folded);
    auto* const svg = add_file_option(app, "--svg", svg_, "draw a differential flame graph into this file");
    svg->excludes(json)->excludes(markdown)->excludes(folded);
    app.add_flag("--inverse", inverse_, "with --svg: take frame widths from the old profile, to show removed code")
        ->needs(svg);
    add_lenient_flag(app, lenient_);
    stacks_.declare(app);
    app.footer(
        "Usage: gpuprof diff [OPTIONS] OLD NEW\n"
        "       gpuprof diff [OPTIONS] OLD... -- NEW...\n"
        "For several runs per side, diff shows means. Kernels, functions and paths match by name, then by a similar "
        "name, then by the code location that launches them. --weight idle compares why devices were idle. cpu and "
        "offcpu compare what CPU threads did (with record --cpu); rows are then reasons instead of kernels. Exit code: "
        "0 if the profiles could be compared, "
        "whatever the differences.");
  }

  Result<int> run() override {
    auto sides = choose();
    RETURN_IF_ERROR(sides);
    auto runs = read_all(*sides);
    RETURN_IF_ERROR(runs);
    const std::span<const Run> old_runs(runs->data(), sides->old_files);
    const std::span<const Run> new_runs(runs->data() + sides->old_files, runs->size() - sides->old_files);
    RETURN_IF_ERROR(compare::check_comparable(old_runs, new_runs));
    const compare::Comparison all = compare::compare(old_runs, new_runs);
    RETURN_IF_ERROR(compare::check_related(all));
    const std::vector<std::string> comparability_warnings =
        compare::comparability_warnings(output::side_of(all, true), output::side_of(all, false));
    std::string notice;
    for (const std::string& doubt : comparability_warnings) {
      log::warn(doubt);
      notice += (notice.empty() ? "" : "; ") + doubt;
    }
    const output::DiffLines lines = output::diff_lines(all, runs->front().timed, filter_);
    if (lines.filtered && lines.paths.empty()) {
      return Error{"nothing matches --kernel and --path", "`gpuprof diff` without them shows the names", kExitNothing};
    }
    RETURN_IF_ERROR(write(lines, notice));
    return 0;
  }

 private:
  Result<Sides> choose() {
    RETURN_IF_ERROR(stacks_.apply(stack_options_));
    RETURN_IF_ERROR(kernel_.take(filter_.kernel));
    RETURN_IF_ERROR(path_.take(filter_.path));
    return split();
  }

  // Parses the arguments "OLD NEW" or "OLD... -- NEW...".
  [[nodiscard]] Result<Sides> split() const {
    std::vector<std::string> words = app_->remaining();
    const auto mark = std::find(words.begin(), words.end(), kSides);
    const bool marked = mark != words.end();
    Sides sides;
    sides.old_files = marked ? static_cast<size_t>(mark - words.begin()) : 1;
    if (marked) {
      words.erase(mark);
    }
    RETURN_IF_ERROR(check_no_options(*app_, words));
    if (words.empty()) {
      return Error{"diff: no profiles are named", kSidesHint, kExitUsage};
    }
    if (!marked && words.size() == 1) {
      return Error{"diff: only one profile is named", kSidesHint, kExitUsage};
    }
    if (!marked && words.size() > 2) {
      return Error{"diff: " + std::to_string(words.size()) + " profiles, but no -- between old and new ones",
                   "separate them: gpuprof diff OLD... -- NEW...", kExitUsage};
    }
    if (sides.old_files == 0 || sides.old_files == words.size()) {
      return Error{std::string("diff: the ") + (sides.old_files == 0 ? "old" : "new") + " side is empty", kSidesHint,
                   kExitUsage};
    }
    if (std::count(words.begin(), words.end(), "-") > 1) {
      return Error{"diff: standard input is named more than once", "write one of the profiles to a file", kExitUsage};
    }
    sides.files = std::move(words);
    return sides;
  }

  // First opens all profiles, to report wrong names and unwritable outputs immediately. Then reads one profile per
  // core at a time, and at most four, because each needs memory while it is read.
  [[nodiscard]] Result<std::vector<Run>> read_all(const Sides& sides) const {
    constexpr unsigned kMostAtOnce = 4;
    std::vector<analyze::MergeInput> inputs;
    std::vector<FileId> opened;
    for (const std::string& file : sides.files) {
      auto reader = open_profile(file, lenient_, opened);
      RETURN_IF_ERROR(reader);
      inputs.push_back(input_of(file, lenient_, std::move(reader).value()));
      if (std::count(opened.begin(), opened.end(), opened.back()) > 1) {
        log::warn(escaped(file) + " is named more than once: it is compared with itself");
      }
    }
    RETURN_IF_ERROR(may_write(svg_.empty() ? "-" : svg_, opened));
    const size_t cores = std::clamp(std::thread::hardware_concurrency(), 1U, kMostAtOnce);
    const size_t most_frames = compare::kMostPathFrames / inputs.size();
    std::vector<Run> runs;
    for (size_t first = 0; first < inputs.size(); first += cores) {
      std::vector<std::future<Result<Run>>> reading;
      for (size_t at = first; at < std::min(first + cores, inputs.size()); ++at) {
        const auto policy = cores > 1 ? std::launch::async : std::launch::deferred;
        reading.push_back(
            std::async(policy, [this, most_frames, input = std::move(inputs[at])]() mutable -> Result<Run> {
              auto reader = input.take();
              RETURN_IF_ERROR(reader);
              return compare::read_run(*reader, input.name, stack_options_, most_frames, measure_);
            }));
      }
      for (std::future<Result<Run>>& one : reading) {
        auto run = one.get();
        RETURN_IF_ERROR(run);
        runs.push_back(std::move(run).value());
      }
    }
    warn_of_copies(runs);
    return runs;
  }

  // Does not compare subsets with each other, because users may compare two time windows of one recording.
  static void warn_of_copies(const std::vector<Run>& runs) {
    analyze::SeenRecordings complete;
    for (const bool is_subset : {false, true}) {
      for (const Run& run : runs) {
        const compare::RunFacts& facts = run.facts;
        if (analyze::part_text(facts.info.meta).empty() == is_subset) {
          continue;
        }
        analyze::SeenRecordings with_subset = complete;
        const std::string other =
            (is_subset ? with_subset : complete).add(analyze::recording_ids(facts.info.meta), facts.file);
        if (other.empty() || other == facts.file) {
          continue;
        }
        const bool is_part = facts.info.meta.contains(std::string(analyze::kRecordingPartKey));
        log::warn(facts.file + " has a recording in common with " + other +
                  (is_subset ? ": its work is compared with itself"
                   : is_part ? ", which is in both only partly: the parts may overlap"
                             : ": it is compared with itself"));
      }
    }
  }

  [[nodiscard]] Status write(const output::DiffLines& lines, const std::string& notice) const {
    if (!svg_.empty()) {
      const std::string picture = output::diff_svg(lines, inverse_, notice);
      return write_file(svg_, "open it in a browser", [&](TextStream& out) { out.append(picture); });
    }
    const output::DiffOptions options{.top = top_, .width = chosen_width(), .full_names = full_};
    output::TooShort too_short;
    RETURN_IF_ERROR(write_output("-", [&](TextStream& out) {
      if (json_) {
        output::diff_json(lines, out);
      } else if (markdown_) {
        output::diff_markdown(lines, options, out);
      } else if (folded_) {
        too_short = output::diff_folded(lines, out);
      } else {
        output::diff_text(lines, options, out);
      }
    }));
    if (too_short.stacks > 0) {
      log::info(too_short.text() + ": --json has all");
    }
    return {};
  }

  [[nodiscard]] size_t chosen_width() const { return width_ != 0 ? width_ : terminal_width(kPlainWidth); }

  const CLI::App* app_ = nullptr;
  StackChoices stacks_;
  analyze::StackOptions stack_options_;
  output::DiffFilter filter_;
  analyze::Measure measure_ = analyze::Measure::gpu;
  PatternOption kernel_;
  PatternOption path_;
  std::string svg_;
  size_t top_ = 6;
  size_t width_ = 0;
  bool full_ = false;
  bool json_ = false;
  bool markdown_ = false;
  bool folded_ = false;
  bool inverse_ = false;
  bool lenient_ = false;
};

}  // namespace

std::unique_ptr<Command> make_diff() {
  return std::make_unique<Diff>();
}

}  // namespace gpuprof::cmd
