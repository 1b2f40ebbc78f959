#include "analyze/subsets/filter.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "base/text/shell.h"
#include "cmd/command.h"
#include "cmd/common/merged_profile.h"
#include "cmd/common/options.h"
#include "cmd/common/output.h"
#include "cmd/common/pattern_option.h"
#include "cmd/common/subset_inputs.h"
#include "cmd/common/window.h"

namespace gpuprof::cmd {
namespace {

using analyze::Aspect;

// Parses numbers and ranges: "3" or "0-7,12".
Result<analyze::NumberRanges> parse_ranges(const std::string& option, const std::string& text) {
  analyze::NumberRanges ranges;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view one = std::string_view(text).substr(begin, end - begin);
    const size_t dash = one.find('-');
    const auto first = whole_number(one.substr(0, dash));
    const auto last = whole_number(dash == std::string_view::npos ? one : one.substr(dash + 1));
    if (!first || !last || *first > *last) {
      return Error{option + ": '" + text + "' is not a list of numbers", "write it as 3, or 0-7,12", kExitUsage};
    }
    ranges.emplace_back(*first, *last);
    begin = end + 1;
  }
  return ranges;
}

class FilterCommand : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    inputs_.declare(app);
    window_.declare(app);
    app.add_option("--process", process_, "keep work of processes with this id or a matching name")
        ->type_name("PID|REGEX");
    app.add_option("--rank", rank_, "keep work of these ranks, such as 3 or 0-7,12")->type_name("N,...");
    app.add_option("--device", device_, "keep work on the GPUs with these indices, such as 0 or 0-3,6")
        ->type_name("N,...");
    path_.declare(app, "--path", "keep work from call paths with a frame that matches");
    kernel_.declare(app, "--kernel", "keep work whose name matches");
    app.add_flag("--not", conditions_.inverted, "keep the work that the other options would remove");
    add_profile_output_option(app, output_);
    app.footer(
        "Keeps the work that matches all options. The new profile is marked as a subset, and the commands that read it "
        "say so. Records that cannot be matched, such as those without a time, are left out and counted. Losses are "
        "kept.");
  }

  Result<int> run() override {
    RETURN_IF_ERROR(choose());
    auto inputs = inputs_.open();
    RETURN_IF_ERROR(inputs);
    RETURN_IF_ERROR(may_write_profile(output_, inputs_.files));
    std::optional<analyze::TimeWindow> selected_window;
    std::string left_out;
    const auto written =
        write_records(output_, [&](const analyze::RecordSink& sink) -> Result<std::vector<std::string>> {
          analyze::Filter filter(conditions_, sink);
          auto merged = analyze::merge(std::move(inputs).value(),
                                       [&](const profile::Record& record) { return filter.take(record); });
          RETURN_IF_ERROR(merged);
          RETURN_IF_ERROR(or_warn(filter.finish(), merged->warnings));
          selected_window = filter.selected_window();
          left_out = filter.left_out();
          std::vector<std::string> warnings = std::move(merged).value().warnings;
          for (std::string& mismatch : filter.mismatches()) {
            warnings.push_back(std::move(mismatch));
          }
          return warnings;
        });
    RETURN_IF_ERROR(written);
    if (selected_window &&
        !(selected_window->from_ns == window_.chosen()->from_ns && selected_window->to_ns == window_.chosen()->to_ns)) {
      log::info("the window was widened to complete time slices: " + analyze::window_text(*selected_window) +
                "; `gpuprof record --interval` sets their length");
    }
    if (!left_out.empty()) {
      log::info("lines left out, because the filter cannot decide whether they match: " + left_out);
    }
    written->report();
    return 0;
  }

 private:
  void given(Aspect aspect, const std::string& words) { conditions_.words.at(static_cast<size_t>(aspect)) = words; }

  Status choose() {
    RETURN_IF_ERROR(window_.check());
    conditions_.window = window_.chosen();
    if (const auto& window = conditions_.window) {
      given(Aspect::time, analyze::window_options(*window));
    }
    RETURN_IF_ERROR(take_process());
    RETURN_IF_ERROR(take_ranges(Aspect::rank, "--rank", rank_, conditions_.ranks));
    RETURN_IF_ERROR(take_ranges(Aspect::device, "--device", device_, conditions_.devices));
    RETURN_IF_ERROR(take_pattern(Aspect::path, "--path", path_, conditions_.path));
    RETURN_IF_ERROR(take_pattern(Aspect::kernel, "--kernel", kernel_, conditions_.kernel));
    if (conditions_.text().empty()) {
      return Error{"no filter was given",
                   "choose some of --from, --to, --process, --rank, --device, --path and --kernel", kExitUsage};
    }
    return {};
  }

  Status take_process() {
    if (app_->count("--process") == 0) {
      return {};
    }
    if (!process_.empty() && process_.find_first_not_of("0123456789") == std::string::npos) {
      conditions_.pid = whole_number<uint32_t>(process_);
      if (!conditions_.pid) {
        return Error{"--process: " + process_ + " is not a process id", "a process name must contain more than digits",
                     kExitUsage};
      }
    } else {
      auto pattern = Pattern::compile("--process", process_);
      RETURN_IF_ERROR(pattern);
      conditions_.process_name = std::move(pattern).value();
    }
    given(Aspect::process, "--process " + shell_word(process_));
    return {};
  }

  Status take_ranges(Aspect aspect, const std::string& name, const std::string& text,
                     std::optional<analyze::NumberRanges>& ranges) {
    if (app_->count(name) > 0) {
      auto parsed = parse_ranges(name, text);
      RETURN_IF_ERROR(parsed);
      ranges = std::move(parsed).value();
      given(aspect, name + " " + shell_word(text));
    }
    return {};
  }

  Status take_pattern(Aspect aspect, const std::string& name, const PatternOption& option,
                      std::optional<Pattern>& pattern) {
    RETURN_IF_ERROR(option.take(pattern));
    if (pattern) {
      given(aspect, name + " " + shell_word(option.text()));
    }
    return {};
  }

  const CLI::App* app_ = nullptr;
  SubsetInputs inputs_;
  Window window_;
  analyze::Conditions conditions_;
  std::string process_;
  std::string rank_;
  std::string device_;
  PatternOption path_;
  PatternOption kernel_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Command> make_filter() {
  return std::make_unique<FilterCommand>();
}

}  // namespace gpuprof::cmd
