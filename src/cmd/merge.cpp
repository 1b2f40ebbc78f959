#include "analyze/merge.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/files/output_file.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/sources.h"
#include "profile/writer.h"

namespace gpuprof::cmd {
namespace {

constexpr uint32_t kFlushEvery = 1024;  // records

class Merge : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("FILES", files_, kSourcesHelp)->required()->expected(-1);
    add_file_option(app, "-o,--output", output_,
                    "profile to write; - is standard output (default); an existing file is kept as FILE.old");
    app.add_flag("--lenient", lenient_, "skip lines that can not be read, and count them");
    app.footer(
        "Times of the profiles are joined by their Unix start times, and slices to the nearest one of the profile "
        "that started first. A process is told from those of other hosts by its host's name (flame --by host).");
  }

  Result<int> run() override {
    auto inputs = open_sources(files_, lenient_, read_);
    if (!inputs) {
      return std::move(inputs).error();
    }
    if (Status may = may_write_profile(output_, read_); !may) {
      return std::move(may).error();
    }
    const FileLimitAsError limit;
    auto file = OutputFile::open(output_, {.keep_old = true, .mode = 0644, .stop = {}});
    if (!file) {
      return std::move(file).error();
    }
    profile::Writer writer(file->take_fd());
    writer.header();
    uint32_t waiting = 0;
    const auto merged = analyze::merge(std::move(inputs).value(), [&](const profile::Record& record) {
      writer.add(record);
      return ++waiting % kFlushEvery == 0 ? writer.flush() : Status();
    });
    if (!merged) {
      return merged.error();
    }
    if (Status flushed = writer.flush(); !flushed) {
      return std::move(flushed).error();
    }
    const auto named = file->finish();
    if (!named) {
      return named.error();
    }
    tell_written({*named, writer.bytes_written(), file->is_regular()}, report_command(*named) + " shows it");
    for (const std::string& warning : merged->warnings) {
      log::warn(warning);
    }
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
