#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "analyze/merge/merge.h"
#include "analyze/stalls/iaprof_lines.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/merged_profile.h"
#include "cmd/common/options.h"
#include "cmd/common/output.h"
#include "cmd/common/sources.h"
#include "profile/records.h"

namespace gpuprof::cmd {
namespace {

struct Totals {
  uint64_t samples = 0;  // merge() checks that the sum of all inputs does not overflow
  uint64_t kernels = 0;
  uint64_t stacks = 0;

  [[nodiscard]] std::string text() const {
    return "imported " + counted_text(samples, "sample") + " of " + counted_text(kernels, "kernel") + " from " +
           counted_text(stacks, "call path");
  }
};

class Counter {
 public:
  void add(const profile::Record& record) {
    if (const auto* const sample = std::get_if<profile::EuStall>(&record)) {
      totals_.samples += sample->count;
    } else if (const auto* const work = std::get_if<profile::Work>(&record)) {
      totals_.kernels += kernels_.insert(work->name).second ? 1 : 0;
      totals_.stacks += stacks_.insert({work->process, work->ustack, work->kstack}).second ? 1 : 0;
    }
  }
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  Totals totals_;
  std::set<profile::StringId> kernels_;
  std::set<std::tuple<profile::ProcessId, profile::StackId, profile::StackId>> stacks_;
};

class Import : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("FILES", files_, "iaprof files to import; - is stdin")->required()->expected(-1);
    add_profile_output_option(app, output_);
    app.add_flag("--folded", folded_, "write the folded stacks that iaprof flame prints, instead of a profile");
    add_lenient_flag(app, lenient_);
    app.footer("Reads the files of all versions of iaprof. Other commands read these files directly, too.");
  }

  Result<int> run() override {
    auto inputs = open_inputs();
    RETURN_IF_ERROR(inputs);
    RETURN_IF_ERROR(folded_ ? may_write(output_, read_) : may_write_profile(output_, read_));
    return folded_ ? write_folded(std::move(inputs).value()) : write_profile(std::move(inputs).value());
  }

 private:
  Result<std::vector<analyze::MergeInput>> open_inputs() {
    if (std::count(files_.begin(), files_.end(), "-") > 1) {
      return Error{"import: standard input is named more than once", "write one of the profiles to a file", kExitUsage};
    }
    std::vector<analyze::MergeInput> inputs;
    for (const std::string& path : files_) {
      auto reader = open_profile(path, lenient_, read_);
      if (!reader) {  // its hint is for commands that read profiles of `record`, which `import` refuses
        return Error{reader.error().message, "use a file that iaprof has written", reader.error().exit_code};
      }
      if (std::count(read_.begin(), read_.end(), read_.back()) > 1) {
        log::warn(escaped(path) + " is named more than once: it is read once");
        continue;
      }
      if (!reader->is_published_form()) {
        return Error{input_name(path) + " is already a gpuprof profile", "`gpuprof merge` joins such profiles"};
      }
      inputs.push_back(input_of(path, lenient_, std::move(reader).value()));
    }
    return inputs;
  }

  Result<int> write_profile(std::vector<analyze::MergeInput> inputs) {
    Counter counter;
    const auto written =
        write_merged(std::move(inputs), output_, [&counter](const profile::Record& record) { counter.add(record); });
    RETURN_IF_ERROR(written);
    log::info(counter.totals().text());
    written->report();
    return counter.totals().samples == 0 ? Result<int>(no_samples()) : Result<int>(0);
  }

  Result<int> write_folded(std::vector<analyze::MergeInput> inputs) {
    analyze::IaprofLines lines;
    for (analyze::MergeInput& input : inputs) {
      auto reader = input.take();
      RETURN_IF_ERROR(reader);
      const auto rows = analyze::aggregate(*reader);
      RETURN_IF_ERROR(rows);
      RETURN_IF_ERROR(analyze::add_iaprof_lines(*rows, lines));
      warn_of_gaps(rows->info);
    }
    RETURN_IF_ERROR(write_file(output_, "", [&](TextStream& out) {
      for (const auto& [line, count] : lines) {
        out.append(line + " " + std::to_string(count) + "\n");
      }
    }));
    return lines.empty() ? Result<int>(no_samples()) : Result<int>(0);
  }

  static Error no_samples() {
    return {"the imported files contain no samples", "iaprof writes samples at the end of each interval: record longer",
            kExitNothing};
  }

  std::vector<std::string> files_;
  std::vector<FileId> read_;
  std::string output_ = "-";
  bool folded_ = false;
  bool lenient_ = false;
};

}  // namespace

std::unique_ptr<Command> make_import() {
  return std::make_unique<Import>();
}

}  // namespace gpuprof::cmd
