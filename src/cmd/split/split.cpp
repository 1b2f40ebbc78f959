#include "analyze/subsets/split.h"

#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "base/files/file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/common/merged_profile.h"
#include "cmd/common/options.h"
#include "cmd/common/subset_inputs.h"
#include "cmd/split/subset_folder.h"

namespace gpuprof::cmd {
namespace {

using analyze::SplitBy;

class SplitCommand : public Command {
 public:
  void declare(CLI::App& app) override {
    inputs_.declare(app);
    suggest(app.add_option("--by", by_, "write one profile per process, rank, device or interval, such as time=10s")
                ->required()
                ->type_name("process|rank|device|time=DURATION"),
            {"process", "rank", "device", "time="});
    add_file_option(app, "-o,--output", output_, "folder for the profiles; must be new or empty")
        ->type_name("FOLDER")
        ->required();
    app.footer(
        "Records that belong to no single file go to rest.txt. `gpuprof merge` of the folder restores the profile. "
        "With --by time=..., work goes to the interval in which it ended.");
  }

  Result<int> run() override {
    RETURN_IF_ERROR(choose());
    auto inputs = inputs_.open();
    RETURN_IF_ERROR(inputs);
    const FileLimitAsError limit;
    auto folder = SubsetFolder::create(output_);
    RETURN_IF_ERROR(folder);
    analyze::Split split(by_what_, length_ns_, [&](const std::string& name) -> Result<analyze::RecordSink> {
      auto file = folder->add(name);
      RETURN_IF_ERROR(file);
      return analyze::RecordSink(
          [&folder, file = *file](const profile::Record& record) { return folder->put(file, record); });
    });
    const auto merged =
        analyze::merge(std::move(inputs).value(), [&](const profile::Record& record) { return split.take(record); });
    RETURN_IF_ERROR(merged);
    RETURN_IF_ERROR(or_warn(split.finish(), merged->warnings));
    RETURN_IF_ERROR(folder->finish());
    log::info("wrote " + counted_text(split.parts(), "part") + (split.has_rest() ? " and rest.txt" : "") + ", " +
              bytes_text(folder->bytes()) + ", into " + escaped(folder->path()));
    warn_all(merged->warnings);
    warn_all(split.mismatches());
    return 0;
  }

 private:
  Status choose() {
    constexpr std::string_view kTime = "time=";
    constexpr std::array<std::pair<std::string_view, SplitBy>, 3> kWords = {
        {{"process", SplitBy::process}, {"rank", SplitBy::rank}, {"device", SplitBy::device}}};
    for (const auto& [word, by] : kWords) {
      if (by_ == word) {
        by_what_ = by;
        return {};
      }
    }
    if (by_.starts_with(kTime)) {
      const auto length = parse_duration(by_.substr(kTime.size()));
      if (length && *length > 0) {
        by_what_ = SplitBy::time;
        length_ns_ = *length;
        return {};
      }
    }
    return Error{"--by: unknown value '" + escaped(by_) + "'",
                 "it is one of process, rank, device and time=DURATION, such as time=10s", kExitUsage};
  }

  SubsetInputs inputs_;
  std::string by_;
  std::string output_;
  SplitBy by_what_ = SplitBy::process;
  uint64_t length_ns_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_split() {
  return std::make_unique<SplitCommand>();
}

}  // namespace gpuprof::cmd
