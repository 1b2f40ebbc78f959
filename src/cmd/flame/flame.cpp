#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "analyze/merge/recordings.h"
#include "analyze/paths/fold.h"
#include "analyze/paths/inverted.h"
#include "analyze/rows/summarize.h"
#include "analyze/rows/time_series.h"
#include "analyze/rows/totals.h"
#include "analyze/subsets/subset_meta.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "base/text/shell.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/output.h"
#include "cmd/common/stack_choices.h"
#include "cmd/common/window.h"
#include "output/facts.h"
#include "output/folded.h"
#include "output/picture/html.h"
#include "output/picture/svg.h"
#include "output/picture/time_series.h"
#include "output/trust.h"
#include "output/weight.h"
#include "profile/loss.h"

namespace gpuprof::cmd {
namespace {

using analyze::FoldResult;
using analyze::Measure;
using analyze::ProfileKind;
using output::WeightChoice;
using output::WeightKind;

std::string leading_blank(const std::string& text) {
  return text.empty() ? text : " " + text;
}

class Flame : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    add_file_option(app, "-o,--output", output_,
                    "file for folded stacks; - is stdout (default: -, or none if a picture is drawn)");
    add_file_option(app, "--svg", svg_, "draw an interactive flame graph into this file");
    add_file_option(app, "--html", html_, "write an HTML page with the flame graph and tables into this file");
    app.add_flag("--inverted", inverted_, "invert stacks: begin with each kernel, then its callers");
    add_file_option(app, "--time-series", time_series_, "draw a heat map of the --weight over time into this file");
    app.add_option("--title", title_, "title of the pictures (default: named after the weight)");
    window_.declare(app);
    declare_weight(app);
    expect_one_of(app.add_option("--unit", unit_, "unit of times in folded stacks (default: us)"), {"ns", "us"});
    app.add_flag("--lines", fold_.stacks.lines, "also append (file:line) to native CPU frames");
    stacks_.declare(app);
    suggest(app.add_option("--by", by_, "group stacks by these dimensions, outermost first")->type_name("LIST"),
            analyze::dimension_list());
    expect_one_of(app.add_option("--graph", graph_,
                                 "stack to show for CUDA graph nodes: launch, capture or both (default: both)"),
                  {"both", "launch", "capture"});
    expect_one_of(
        app.add_option("--nvtx", nvtx_, "show NVTX ranges as frames, filter by them or ignore them (default: frames)"),
        {"frames", "filter", "off"});
    app.add_option("--nvtx-range", fold_.range, "show only work inside this NVTX range; implies --nvtx=filter")
        ->type_name("NAME[@DOMAIN]");
    expect_one_of(app.add_option("--unsampled", unsampled_,
                                 "stacks skipped by --max-overhead: spread (extrapolate) or show (default: spread)"),
                  {"spread", "show"});
    leaf_option_ = suggest(app.add_option("--leaf", leaf_, "frames to show below sampled kernels (default: line,stall)")
                               ->type_name("LIST"),
                           {"kernel", "function", "line", "instruction", "offset", "stall"});
    coverage_.declare(app);
    show_in_help(app, {"--input", "--output", "--svg", "--html", "--inverted", "--time-series", "--from", "--to",
                       "--weight", "--leaf", "--by", "--root", "--hide", "--no-lines"});
    app.footer(
        "Weights: sum is GPU time. Of work that overlaps, busy gives the device's time to what started first, and "
        "exclusive shares it. idle is device time without work, wait the time of calls that wait for a GPU, "
        "calls the time of other calls of its API, cpu the CPU time of threads and offcpu the time in which launching "
        "threads did not run (both with record --cpu). count, "
        "samples, bytes copied, bytes allocated (alloc), calls that failed (failed) and launches whose work was lost "
        "(no-work) are "
        "numbers.");
    app_ = &app;
  }

  Result<int> run() override {
    RETURN_IF_ERROR(choose());
    auto reader = input_.open();
    RETURN_IF_ERROR(reader);
    RETURN_IF_ERROR(may_write_all());
    analyze::AggregateOptions needed = analyze::needed_for(fold_.measure);
    needed.window = window_.chosen();
    needed.durations = !html_.empty();
    if (!time_series_.empty()) {
      needed.slices = fold_.measure;
    }
    auto rows = analyze::aggregate(*reader, needed);
    RETURN_IF_ERROR(rows);
    has_shares_ = rows->has_shares;
    if (is_of_device_time()) {
      analyze::add_overlap_warnings(*rows);
    }
    warn_of_gaps(rows->info);
    warn_of_coverage(rows->info);
    window_.explain(*rows);
    not_recorded_ = window_.not_recorded(*rows);
    RETURN_IF_ERROR(time_series_.empty() ? Status() : draw_time_series(*rows));
    return draws_only_time_series() ? ended(rows->info, rows->tables, series_total_) : fold(*rows);
  }

 private:
  Result<int> fold(const analyze::Aggregate& rows) {
    FoldResult folded = analyze::fold(rows, fold_);
    if (inverted_) {
      invert(folded);
    }
    WeightChoice weight = choose_weight(folded, folded.tree.total());
    RETURN_IF_ERROR(choose_unit(folded.tree, weight));
    explain(folded, weight.kind);
    const uint64_t total = output::raw_weight(folded.tree.total(), weight.kind);
    RETURN_IF_ERROR(total == 0 ? Status() : write(rows, folded, weight));
    return ended(folded, rows.tables, total);
  }

  static void invert(FoldResult& folded) {
    analyze::Inverted inverted = analyze::inverted(folded.tree);
    folded.tree = std::move(inverted.tree);
    if (inverted.cut_paths > 0) {
      log::warn(counted_text(inverted.cut_paths, "path").append(" ").append(is_or_are(inverted.cut_paths)) +
                " too deep: the outermost callers are left out");
    }
  }

  [[nodiscard]] Result<int> ended(const analyze::ProfileInfo& info, const profile::Tables& tables,
                                  uint64_t total) const {
    RETURN_IF_ERROR(coverage_.check(info));
    return total == 0 ? Result<int>(why_nothing(info, tables)) : Result<int>(0);
  }

  [[nodiscard]] bool draws_graph() const { return !svg_.empty() || !html_.empty(); }
  [[nodiscard]] bool draws_only_time_series() const {
    return !time_series_.empty() && !draws_graph() && output_.empty();
  }

  void declare_weight(CLI::App& app) {
    std::vector<std::string> words;
    // The line must fit a terminal. So it leaves out `time`, the other word for `sum`, and those that the footer names.
    std::string shown;
    for (const output::WeightWord& weight : output::kWeights) {
      words.emplace_back(weight.word);
      if (words.back() != "time" && words.back() != "failed" && words.back() != "no-work" && words.back() != "offcpu") {
        shown.append(weight.word).append("|");
      }
    }
    shown += "...";
    expect_one_of(app.add_option("--weight", weight_, "what the width of a frame measures (default: sum)"), words)
        ->type_name(shown);
  }

  // Checks options that depend on each other, and parses those that take more than one word.
  Status choose() {
    for (size_t at = 0; at < by_.size();) {
      const size_t end = std::min(by_.find(',', at), by_.size());
      const auto dimension = analyze::dimension_of(by_.substr(at, end - at));
      if (!dimension) {
        return Error{"--by: '" + by_.substr(at, end - at) + "' is not one of " + analyze::dimension_words("and"),
                     "for example --by rank,device", kExitUsage};
      }
      fold_.by.push_back(*dimension);
      at = end + 1;
    }
    if (app_->count("--nvtx-range") != 0 && fold_.range.empty()) {
      return Error{"--nvtx-range: the name is empty", "leave the option out to show all work", kExitUsage};
    }
    if (!fold_.range.empty() && !nvtx_.empty() && nvtx_ != "filter") {
      return Error{"--nvtx-range selects work, so it cannot be combined with --nvtx=" + nvtx_, "leave --nvtx out",
                   kExitUsage};
    }
    using analyze::GraphStacks;
    using analyze::RangeFrames;
    fold_.ranges = nvtx_ == "off"                              ? RangeFrames::off
                   : nvtx_ == "filter" || !fold_.range.empty() ? RangeFrames::filter
                                                               : RangeFrames::frames;
    fold_.graph = graph_ == "launch"    ? GraphStacks::launch
                  : graph_ == "capture" ? GraphStacks::capture
                                        : GraphStacks::both;
    if (fold_.stacks.lines && stacks_.without_lines()) {
      return Error{"both --lines and --no-lines", "give one of them", kExitUsage};
    }
    if (leaf_option_->count() > 0) {
      auto leaves = analyze::parse_leaves(leaf_);
      if (!leaves) {
        return Error{"--leaf: " + leaves.error().message, leaves.error().hint, kExitUsage};
      }
      fold_.leaves = std::move(leaves).value();
    }
    if (!time_series_.empty() && fold_.ranges == RangeFrames::filter) {
      return Error{"--time-series shows all work, so it cannot be combined with --nvtx-range or --nvtx=filter",
                   "leave one of them out", kExitUsage};
    }
    if (inverted_ && draws_only_time_series()) {
      return Error{"--inverted applies to stacks, which --time-series does not show", "add --svg FILE or -o FILE",
                   kExitUsage};
    }
    fold_.spread = unsampled_ != "show";
    fold_.measure = output::weight_of(weight_).measure;
    RETURN_IF_ERROR(window_.check());
    return stacks_.apply(fold_.stacks);
  }

  [[nodiscard]] WeightChoice choose_weight(const analyze::ProfileInfo& info, const analyze::Weight& total) const {
    WeightChoice choice;
    choice.unit = unit_ == "ns" ? output::TimeUnit::ns : output::TimeUnit::us;
    choice.kind = output::weight_of(weight_).kind;
    if (weight_.empty() && info.kind != ProfileKind::durations && total.ns == 0) {
      choice.kind = WeightKind::count;
    }
    return choice;
  }

  // Returns whether writing one file would replace the other: the paths are the same, or one is the other's backup
  // (.old).
  static bool one_replaces(const std::string& path, const std::string& other) {
    return are_same_output(path, other) || (path != "-" && are_same_output(path + ".old", other)) ||
           (other != "-" && are_same_output(path, other + ".old"));
  }

  [[nodiscard]] Status may_write_all() const {
    const std::array<std::pair<const char*, std::string>, 4> outputs{{
        {"-o", output_.empty() && !draws_graph() && time_series_.empty() ? "-" : output_},
        {"--svg", svg_},
        {"--html", html_},
        {"--time-series", time_series_},
    }};
    for (size_t i = 0; i < outputs.size(); ++i) {
      for (size_t k = i + 1; k < outputs.size(); ++k) {
        const auto& [option, path] = outputs[i];
        const auto& [other, other_path] = outputs[k];
        if (!path.empty() && !other_path.empty() && one_replaces(path, other_path)) {
          return Error{"both " + std::string(option) + " and " + other + " write " + path, "name two files",
                       kExitUsage};
        }
      }
    }
    for (const auto& [option, path] : outputs) {
      RETURN_IF_ERROR(path.empty() ? Status() : may_write(path, input_.files));
    }
    return {};
  }

  // Uses ns if all stacks are too short for us. Fails if --unit is `us`.
  [[nodiscard]] Status choose_unit(const analyze::FlameTree& tree, WeightChoice& weight) const {
    constexpr uint64_t kNsInUs = 1000;
    const auto& nodes = tree.nodes();
    const bool has_long = std::any_of(nodes.begin(), nodes.end(), [&](const analyze::FlameTree::Node& node) {
      return output::rounded_weight(tree.self(node).ns, kNsInUs) > 0;
    });
    if (weight.kind != WeightKind::time || weight.unit != output::TimeUnit::us || tree.total().ns == 0 || has_long ||
        (draws_graph() && output_.empty())) {
      return {};
    }
    if (!unit_.empty()) {
      return Error{"each stack takes less than 0.5 us", "try --unit ns", kExitNothing};
    }
    log::info("each stack takes less than 0.5 us, so the stacks are in ns (see --unit)");
    weight.unit = output::TimeUnit::ns;
    return {};
  }

  void explain(const FoldResult& folded, WeightKind weight) const {
    if (weight_.empty() && folded.kind == ProfileKind::launch_counts) {
      log::info("the profile has launches without GPU times: stacks are weighted by launch count");
    } else if (weight_.empty() && folded.kind == ProfileKind::mixed) {
      log::info("the profile has several kinds of records; stacks are weighted by " +
                std::string(weight == WeightKind::time
                                ? "GPU time, and other kinds are left out; --weight count shows launches and calls"
                                : "count"));
    }
    explain_samples(folded, weight);
    explain_unsampled(folded, weight);
    stacks_.explain(folded.trimmed);
  }

  // Returns whether the picture shows the GPU time of all work, like the tables of the page.
  [[nodiscard]] bool shows_all_time(const WeightChoice& weight) const {
    return fold_.ranges != analyze::RangeFrames::filter && fold_.measure == Measure::gpu &&
           weight.kind != WeightKind::bytes;
  }

  [[nodiscard]] bool apportions_time(const FoldResult& folded, WeightKind weight) const {
    const bool of_time =
        fold_.measure == Measure::gpu || fold_.measure == Measure::busy || fold_.measure == Measure::exclusive;
    return of_time && weight == WeightKind::time && folded.samples > 0 && folded.kind != ProfileKind::stall_samples;
  }

  // Reports which frames the output has below kernels, and why.
  void explain_samples(const FoldResult& folded, WeightKind weight) const {
    if (!apportions_time(folded, weight)) {
      return;
    }
    const analyze::Apportioned& shared = folded.apportioned;
    if (const std::string why = dropped_samples(folded, weight); !why.empty()) {
      log::warn(why);
    }
    if (shared.samples > 0) {
      log::info("kernels are split by " + analyze::leaf_words(folded.leaves) + ": their time is apportioned among " +
                counted_text(shared.samples, "sample") + " (see --leaf)");
    }
    const bool shows_source = has(folded.leaves, analyze::Leaf::line) || has(folded.leaves, analyze::Leaf::function);
    if (shows_source && shared.without_lines > 0) {
      log::info(output::without_lines_text(shared.without_lines, shared.samples, shared.without_in_zebins));
    }
    if (shared.untimed > 0) {
      log::info(counted_text(shared.untimed, "sample") +
                " of work without a measured time: --weight samples shows them");
    }
  }

  // If too many samples were dropped, returns a warning that says how this affects the picture; else "".
  [[nodiscard]] std::string dropped_samples(const FoldResult& folded, WeightKind weight) const {
    const std::string dropped = output::dropped_samples_text(folded);
    if (dropped.empty() || !apportions_time(folded, weight)) {
      return {};
    }
    return dropped +
           (folded.leaves.empty() ? ": the picture ends at the kernels" : ": the shares below kernels may be wrong");
  }

  // For a profile without GPU work, launches and samples. Its calls on the CPU may have other weights.
  [[nodiscard]] Error why_empty(const analyze::ProfileInfo& info, const profile::Tables& tables) const {
    Error error = no_gpu_work(info, tables);
    if (fold_.measure != Measure::gpu) {
      error.message = "the chosen weight is 0 in the whole profile, which holds no GPU work";
    }
    std::string others;
    for (const output::WeightWord& weight : output::kWeights) {
      const auto op = analyze::host_op(weight.measure);
      if (op && weight.measure != fold_.measure &&
          std::ranges::any_of(tables.works(), [op](const profile::Work& work) { return work.op == *op; })) {
        others +=
            std::string(others.empty() ? "try " : ", or ") + "--weight " + weight.word + " (" + weight.title + ")";
      }
    }
    if (!others.empty()) {
      error.hint = others;
    }
    return error;
  }

  [[nodiscard]] static bool has_no_ranges(const profile::Tables& tables) {
    return std::ranges::all_of(tables.works(),
                               [](const profile::Work& work) { return work.range == profile::RangeId{}; });
  }

  [[nodiscard]] bool is_of_device_time() const {
    return fold_.measure == Measure::busy || fold_.measure == Measure::exclusive || fold_.measure == Measure::idle;
  }

  [[nodiscard]] Error why_nothing(const analyze::ProfileInfo& info, const profile::Tables& tables) const {
    const bool filters = fold_.ranges == analyze::RangeFrames::filter;
    if (not_recorded_) {
      return *not_recorded_;
    }
    if (window_.chosen() && fold_.measure == Measure::idle && has_shares_) {
      return {"no device was idle " + window_.text(), "choose a longer time", kExitNothing};
    }
    if (window_.chosen()) {
      return {"the chosen weight is 0 " + window_.text(), "--time-series FILE shows when there was work", kExitNothing};
    }
    if (info.kind == ProfileKind::empty && (fold_.measure == Measure::gpu || !filters)) {
      return why_empty(info, tables);
    }
    if (filters && has_no_ranges(tables)) {
      return {"the profile has no NVTX ranges", "leave out --nvtx-range and --nvtx=filter", kExitNothing};
    }
    if (filters) {
      return {"no work ran inside the NVTX range" + (fold_.range.empty() ? "" : " '" + fold_.range + "'"),
              "--nvtx=frames shows which ranges there are" + renamed_ranges(info), kExitNothing};
    }
    const bool is_timed = info.kind == ProfileKind::durations || info.kind == ProfileKind::mixed;
    const char* other = is_timed ? "sum" : info.kind == ProfileKind::stall_samples ? "samples" : "count";
    if (fold_.measure == Measure::samples && info.samples == 0) {
      return {"the profile has no samples of GPU code", std::string("try --weight ") + other, kExitNothing};
    }
    if (is_of_device_time() && !has_shares_ && is_timed) {
      return {"the chosen weight is 0: the profile does not record how work shared its devices", "try --weight sum",
              kExitNothing};
    }
    return {"the chosen weight is 0 in the whole profile", std::string("try --weight ") + other, kExitNothing};
  }

  // Returns a clause if a range may be in the profile under another name.
  static std::string renamed_ranges(const analyze::ProfileInfo& info) {
    const auto lost = info.losses.find(std::string(profile::word(profile::LossReason::range_limit)));
    return lost == info.losses.end() || lost->second == 0
               ? ""
               : "; " + counted_text(lost->second, "launch") + " (range_limit)" +
                     (lost->second == 1 ? " has" : " have") +
                     " other range names than the program gave, such as step [N]";
  }

  static void explain_unsampled(const FoldResult& folded, WeightKind weight) {
    const uint64_t total = output::raw_weight(folded.tree.total(), weight);
    const auto share = [&](const analyze::Weight& part) {
      return percent_text_up(output::raw_weight(part, weight), total);
    };
    if (output::raw_weight(folded.spread, weight) > 0) {
      log::info(share(folded.spread) +
                " comes from launches without a stack (--max-overhead): extrapolated from the stacks of the same work");
    }
    if (output::raw_weight(folded.not_sampled, weight) > 0) {
      log::info(share(folded.not_sampled) +
                " comes from launches without a stack (--max-overhead): shown as [stack not sampled]");
    }
  }

  [[nodiscard]] output::WeightNames names(const analyze::ProfileInfo& info) const {
    const output::WeightWord& weight = output::weight_of(weight_);
    return {weight.time_name, info.kind == ProfileKind::stall_samples ? "sample" : weight.count_name, weight.bytes_name,
            weight.event_name};
  }

  [[nodiscard]] output::SvgOptions svg_options(const FoldResult& folded, const WeightChoice& weight) const {
    output::SvgOptions options;
    options.title = title_.empty() ? output::weight_of(weight_).title : title_;
    const auto command = folded.meta.find("command");
    options.subtitle = command == folded.meta.end() ? std::string() : command->second;
    options.facts = output::recorded_text(folded);
    options.inverted = inverted_;
    options.notice = output::notice_text(folded);
    if (const std::string dropped = dropped_samples(folded, weight.kind); !dropped.empty()) {
      options.notice.append(options.notice.empty() ? "" : "; ").append(dropped);
    }
    if (folded.apportioned.samples > 0 && weight.kind == WeightKind::time) {
      options.width_note =
          "Below kernels: their time, apportioned among " + counted_text(folded.apportioned.samples, "sample") + ".";
    }
    options.weight = weight;
    options.names = names(folded);
    return options;
  }

  [[nodiscard]] Status draw_time_series(const analyze::Aggregate& rows) {
    auto series = analyze::time_series(rows, fold_.measure, output::kMostHeatCells);
    if (!series) {
      return rows.info.kind == ProfileKind::empty ? why_nothing(rows.info, rows.tables) : std::move(series).error();
    }
    const WeightChoice weight = choose_weight(rows.info, series->total);
    series_total_ = output::raw_weight(series->total, weight.kind);
    if (series_total_ == 0) {
      return ended(rows.info, rows.tables, 0).error();
    }
    output::HeatMapOptions options;
    options.title = title_.empty() ? output::weight_of(weight_).series_title : title_;
    const auto command = rows.info.meta.find("command");
    options.subtitle = command == rows.info.meta.end() ? std::string() : command->second;
    options.facts = output::recorded_text(rows.info);
    options.range = analyze::named_recordings(rows.info.meta) > 1 ? "" : analyze::recorded_range(rows.info.meta);
    options.is_subset = !analyze::part_text(rows.info.meta).empty();
    options.notice = output::notice_text(rows.info);
    options.kind = weight.kind;
    options.names = names(rows.info);
    options.command_options =
        "-i " + shell_word(input_.opened) +
        leading_blank(options_given(*app_, {"--input", "--output", "--svg", "--html", "--inverted", "--time-series",
                                            "--title", "--from", "--to", "--min-coverage", "--quiet", "--verbose"}));
    const std::string picture = output::heat_map(*series, options);
    return write_file(time_series_, "open it in a browser", [&](TextStream& out) { out.append(picture); });
  }

  [[nodiscard]] Status write(const analyze::Aggregate& rows, const FoldResult& folded,
                             const WeightChoice& weight) const {
    constexpr const char* kAdvice = "open it in a browser";
    const auto put = [](const std::string& path, const std::string& picture) {
      return write_file(path, kAdvice, [&](TextStream& out) { out.append(picture); });
    };
    if (!svg_.empty()) {
      RETURN_IF_ERROR(put(svg_, output::svg(folded.tree, svg_options(folded, weight))));
    }
    if (!html_.empty()) {
      constexpr size_t kTableLines = 200;
      constexpr const char* kOfAll =
          "The tables show the GPU time of all work in the profile. The picture shows a subset of the work, or another "
          "measure.";
      const analyze::SummaryOptions tables{.limits = {kTableLines, 1, kTableLines, 1}, .stacks = fold_.stacks};
      const std::string page = output::html(folded.tree, analyze::summarize(rows, tables), svg_options(folded, weight),
                                            shows_all_time(weight) ? "" : kOfAll);
      RETURN_IF_ERROR(put(html_, page));
    }
    if (draws_graph() && output_.empty()) {
      return {};
    }
    output::TooShort too_short;
    RETURN_IF_ERROR(write_file(output_.empty() ? "-" : output_, "",
                               [&](TextStream& out) { too_short = output::write_folded(folded.tree, weight, out); }));
    if (too_short.stacks > 0) {
      log::info(too_short.text() + ": --unit ns shows them");
    }
    return {};
  }

  Input input_;
  MinCoverage coverage_;
  StackChoices stacks_;
  analyze::FoldOptions fold_;
  std::string output_;
  std::string svg_;
  std::string html_;
  bool inverted_ = false;
  std::string time_series_;
  Window window_;
  std::optional<Error> not_recorded_;
  std::string title_;
  std::string weight_;
  std::string unit_;
  std::string by_;
  std::string leaf_;
  const CLI::Option* leaf_option_ = nullptr;
  std::string graph_;
  std::string nvtx_;
  std::string unsampled_;
  const CLI::App* app_ = nullptr;
  bool has_shares_ = false;
  uint64_t series_total_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_flame() {
  return std::make_unique<Flame>();
}

}  // namespace gpuprof::cmd
