#include "analyze/merge.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/log.h"
#include "cmd/command.h"
#include "profile/writer.h"

namespace gpuprof::cmd {
namespace {

constexpr uint32_t kFlushEvery = 1024;  // records

class Merge : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("FILES", files_, "profiles to join; - is standard input")->required()->expected(-1);
    app.add_option("-o,--output", output_,
                   "profile to write; - is standard output (default); an existing file is kept as FILE.old")
        ->type_name("FILE");
    app.add_flag("--lenient", lenient_, "skip lines that can not be read, and count them");
    app.footer(
        "Times of the profiles are joined by their Unix start times, and slices to the nearest one of the profile "
        "that\n"
        "started first. A process is told from those of other hosts by its host's name (flame --by host).");
  }

  Result<int> run() override {
    auto inputs = open_inputs();
    if (!inputs) {
      return std::move(inputs).error();
    }
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
    if (const auto named = file->finish(); !named) {
      return named.error();
    }
    for (const std::string& warning : merged->warnings) {
      log::warn(warning);
    }
    return 0;
  }

 private:
  [[nodiscard]] Result<std::vector<analyze::MergeInput>> open_inputs() const {
    if (std::count(files_.begin(), files_.end(), "-") > 1) {
      return Error{"merge: standard input is named more than once", "write one of the profiles to a file", kExitUsage};
    }
    std::vector<analyze::MergeInput> inputs;
    for (const std::string& path : files_) {
      auto fd = open_input(path);
      if (!fd) {
        return std::move(fd).error();
      }
      const std::string name = path == "-" ? "stdin" : path;
      auto reader = profile::Reader::open(std::move(fd).value(), name, {.lenient = lenient_});
      if (!reader) {
        return std::move(reader).error();
      }
      inputs.push_back({name, std::move(reader).value()});
    }
    return inputs;
  }

  std::vector<std::string> files_;
  std::string output_ = "-";
  bool lenient_ = false;
};

}  // namespace

std::unique_ptr<Command> make_merge() {
  return std::make_unique<Merge>();
}

}  // namespace gpuprof::cmd
