#include "analyze/paths/annotate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/hints.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "cmd/annotate/source_files.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/pattern_option.h"
#include "cmd/common/window.h"
#include "output/annotate.h"
#include "output/trust.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostKernels = 1'000'000;

// Returns the start time of the recording. A merged profile has the start time of its first recording.
std::optional<uint64_t> start_of(const analyze::ProfileInfo& info) {
  std::optional<uint64_t> start;
  const auto [begin, end] = info.meta.equal_range("start_unix_ns");
  for (auto value = begin; value != end; ++value) {
    const auto ns = whole_number(value->second);
    if (!ns) {
      return std::nullopt;
    }
    start = std::min(start.value_or(*ns), *ns);
  }
  return start;
}

class Annotate : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    auto* const gpu = app.add_flag("--gpu", gpu_, "show the source of GPU kernels with their samples (default)");
    app.add_flag("--cpu", cpu_, "show CPU source lines with the GPU time launched from them")->excludes(gpu);
    kernel_.declare(app, "--kernel", "show only kernels whose name matches");
    expect_number(app.add_option("--limit", options_.kernels,
                                 "number of kernels to show (with --cpu: of files); 0 for all (default: 5)"),
                  0, kMostKernels);
    window_.declare(app);
    app.add_flag("--own-rights", own_rights_, "as root, read source files with root's rights (default: as nobody)");
    app.footer(
        "annotate reads the source files at the paths in the profile. It shows only line numbers for files that are "
        "missing or changed since the recording began. Root shows only files with names of source files, and reads "
        "them "
        "with the rights of the user nobody, unless --own-rights is given. "
        "Inlined code is shown below the line that calls it.");
  }

  Result<int> run() override {
    RETURN_IF_ERROR(window_.check());
    std::optional<Pattern> kernel;
    RETURN_IF_ERROR(kernel_.take(kernel));
    if (kernel) {
      options_.wanted = [pattern = *kernel](std::string_view name) { return pattern.matches(name); };
    }
    auto reader = input_.open();
    RETURN_IF_ERROR(reader);
    auto rows = analyze::aggregate(*reader, {.window = window_.chosen()});
    RETURN_IF_ERROR(rows);
    warn_of_gaps(rows->info);
    SourceFiles sources(start_of(rows->info), source_access(own_rights_));
    const output::FindSource find = [&sources](std::string_view path) -> const output::SourceText& {
      return sources.find(path);
    };
    return cpu_ ? annotate_cpu(*rows, find) : annotate_gpu(*rows, find);
  }

 private:
  [[nodiscard]] Result<int> annotate_cpu(const analyze::Aggregate& rows, const output::FindSource& find) const {
    const analyze::LaunchingLines lines = analyze::launching_lines(rows, options_.wanted);
    if (lines.all.count == 0 && window_.chosen() && !kernel_.given()) {
      return window_.nothing(rows, "GPU work or launches");
    }
    if (lines.all.count == 0) {
      return !kernel_.given() ? Error{"the profile has no GPU work whose launch could be shown",
                                      "`gpuprof report` shows what this recording saw and missed", kExitNothing}
                              : nothing_matches();
    }
    if (lines.files.empty()) {
      return Error{"no CPU stack of the profile has a source line",
                   "compile native code with -g; Python frames always have lines", kExitNothing};
    }
    window_.explain(rows);
    Status written =
        write_output("-", [&](TextStream& out) { output::annotate_cpu_text(lines, options_.kernels, find, out); });
    return written ? Result<int>(0) : Result<int>(std::move(written).error());
  }

  [[nodiscard]] Error nothing_matches() const {
    return {"no kernel with " + std::string(cpu_ ? "launches" : "samples") + " has a name that matches '" +
                escaped(kernel_.text()) + "'" + (window_.chosen() ? " " + window_.text() : ""),
            "`gpuprof report` lists the kernels", kExitNothing};
  }

  [[nodiscard]] Result<int> annotate_gpu(const analyze::Aggregate& rows, const output::FindSource& find) const {
    if (const std::string why = output::no_samples_text(rows.info); !why.empty()) {
      return Error{why, hints::kAskDoctor, kExitNothing};
    }
    if (rows.info.samples == 0) {
      return Error{"the profile has no samples of GPU code", "record them with `gpuprof record --pc-sampling`",
                   kExitNothing};
    }
    if (window_.chosen() && rows.samples.empty()) {
      return window_.nothing(rows, "work with samples");
    }
    window_.explain(rows);
    if (const std::string dropped = output::dropped_samples_text(rows.info); !dropped.empty()) {
      log::warn(dropped + ": the shares of lines may be wrong");
    }
    const auto kernels = analyze::annotate(rows, options_);
    if (kernels.empty()) {
      return nothing_matches();
    }
    Status written = write_output("-", [&](TextStream& out) {
      if (rows.info.is_estimate()) {
        out.text() +=
            "samples are only those in windows (--max-overhead), and the shares of lines have no intervals\n\n";
      }
      for (const analyze::AnnotatedKernel& kernel : kernels) {
        out.text().append(&kernel == kernels.data() ? "" : "\n\n");
        output::annotate_text(kernel, find, out);
      }
    });
    return written ? Result<int>(0) : Result<int>(std::move(written).error());
  }

  Input input_;
  analyze::AnnotateOptions options_{.kernels = 5, .wanted = {}};
  PatternOption kernel_;
  Window window_;
  bool gpu_ = false;
  bool cpu_ = false;
  bool own_rights_ = false;
};

}  // namespace

std::unique_ptr<Command> make_annotate() {
  return std::make_unique<Annotate>();
}

}  // namespace gpuprof::cmd
