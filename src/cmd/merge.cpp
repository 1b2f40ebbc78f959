#include "analyze/merge/merge.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/return_if_error.h"
#include "cmd/command.h"
#include "cmd/common/merged_profile.h"
#include "cmd/common/options.h"
#include "cmd/common/output.h"
#include "cmd/common/sources.h"

namespace gpuprof::cmd {
namespace {

class Merge : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("FILES", files_, kSourcesHelp)->required()->expected(-1);
    add_profile_output_option(app, output_);
    add_lenient_flag(app, lenient_);
    app.footer(
        "merge aligns the profiles by their Unix start times. Time slices are moved to the nearest slice of the "
        "profile that started first. Processes of different hosts stay separate (flame --by host). A recording that "
        "several inputs hold counts once.");
  }

  Result<int> run() override {
    auto inputs = open_sources(files_, lenient_, read_);
    RETURN_IF_ERROR(inputs);
    RETURN_IF_ERROR(may_write_profile(output_, read_));
    const auto written = write_merged(std::move(inputs).value(), output_, [](const profile::Record& /*unused*/) {});
    RETURN_IF_ERROR(written);
    written->report();
    return 0;
  }

 private:
  std::vector<std::string> files_;
  std::vector<FileId> read_;
  std::string output_ = "-";
  bool lenient_ = false;
};

}  // namespace

std::unique_ptr<Command> make_merge() {
  return std::make_unique<Merge>();
}

}  // namespace gpuprof::cmd
