#include <CLI/CLI.hpp>
#include <utility>

#include "analyze/fold.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "output/folded.h"
#include "output/svg.h"

namespace gpuprof::cmd {
namespace {

using analyze::FoldResult;
using analyze::ProfileKind;
using output::WeightChoice;
using output::WeightKind;

class Flame : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    app.add_option("-o,--output", output_, "file for the folded stacks; - is standard output (default)");
    app.add_option("--svg", svg_, "draw a flame graph into this file, instead of printing folded stacks");
    app.add_option("--title", title_, "of the flame graph");
    app.add_option("--weight", weight_, "time, count or bytes (default: time where the profile has it, else count)")
        ->check(CLI::IsMember({"time", "count", "bytes"}));
    app.add_option("--unit", unit_, "of time: us (default) or ns")->check(CLI::IsMember({"ns", "us"}));
    app.add_flag("--lines", fold_.lines, "append (file:line) to CPU frames");
  }

  Result<int> run() override {
    auto reader = input_.open();
    if (!reader) {
      return std::move(reader).error();
    }
    auto folded = analyze::fold(*reader, fold_);
    if (!folded) {
      return std::move(folded).error();
    }
    warn_of_gaps(*folded);
    const WeightChoice weight = choose_weight(*folded);
    explain(*folded, weight.kind);
    if (Status written = write(*folded, weight); !written) {
      return std::move(written).error();
    }
    return 0;
  }

 private:
  [[nodiscard]] WeightChoice choose_weight(const FoldResult& folded) const {
    WeightChoice choice;
    choice.unit = unit_ == "ns" ? output::TimeUnit::ns : output::TimeUnit::us;
    if (weight_ == "count") {
      choice.kind = WeightKind::count;
    } else if (weight_ == "bytes") {
      choice.kind = WeightKind::bytes;
    } else if (weight_.empty() && folded.kind != ProfileKind::durations && folded.tree.total().ns == 0) {
      choice.kind = WeightKind::count;
    }
    return choice;
  }

  // What a user would otherwise wonder about.
  void explain(const FoldResult& folded, WeightKind weight) const {
    if (folded.kind == ProfileKind::empty) {
      log::info("the profile holds no GPU work, so there is nothing to draw");
    } else if (output::raw_weight(folded.tree.total(), weight) == 0) {
      log::warn("the chosen weight is 0 for all of the profile", "try another --weight: time, count or bytes");
    } else if (weight_.empty() && folded.kind == ProfileKind::launch_counts) {
      log::info("the profile has launches without GPU times: stacks are weighted by launch count");
    } else if (weight_.empty() && folded.kind == ProfileKind::mixed) {
      log::info("the profile has several kinds of records; stacks are weighted by " +
                std::string(weight == WeightKind::time ? "GPU time, other kinds are left out (see --weight count)"
                                                       : "count"));
    }
  }

  [[nodiscard]] Status write(const FoldResult& folded, const WeightChoice& weight) const {
    if (!svg_.empty()) {
      output::SvgOptions options;
      if (!title_.empty()) {
        options.title = title_;
      }
      const auto command = folded.meta.find("command");
      options.subtitle = command == folded.meta.end() ? std::string() : command->second;
      options.notice = gaps(folded);
      options.weight = weight;
      if (folded.kind == ProfileKind::stall_samples) {
        options.count_name = "samples";
      }
      if (Status drawn = write_output(svg_, output::svg(folded.tree, options)); !drawn || output_.empty()) {
        return drawn;
      }
    }
    return write_output(output_.empty() ? "-" : output_, output::folded(folded.tree, weight));
  }

  Input input_;
  analyze::FoldOptions fold_;
  std::string output_;
  std::string svg_;
  std::string title_;
  std::string weight_;
  std::string unit_ = "us";
};

}  // namespace

std::unique_ptr<Command> make_flame() {
  return std::make_unique<Flame>();
}

}  // namespace gpuprof::cmd
