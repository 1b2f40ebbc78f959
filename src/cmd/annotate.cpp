#include "analyze/annotate.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/files/file.h"
#include "base/log.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/window.h"
#include "output/annotate.h"
#include "output/trust.h"
#include "symbolize/safe_open.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostKernels = 1'000'000;

// Source files by the paths that a profile names, which may be from another machine, or somebody's trap.
class Sources {
 public:
  // `started`: when recording began, in ns of Unix time; nothing where the profile does not say.
  explicit Sources(std::optional<uint64_t> started) : started_(started) {}

  const output::SourceText& find(std::string_view path) {
    const auto [known, is_new] = known_.try_emplace(std::string(path));
    if (is_new) {
      known->second = read(known->first);
    }
    return known->second;
  }

 private:
  static constexpr size_t kMostBytes = size_t{16} << 20U;  // of a file
  static constexpr size_t kMostBytesInAll = size_t{256} << 20U;

  output::SourceText read(const std::string& path) {
    if (path.empty()) {
      return {};
    }
    const UniqueFd fd = symbolize::open_regular({}, path);
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
      return {{}, "it is not there, or cannot be read"};
    }
    if (!started_) {
      return {{}, "the profile does not say when it was recorded"};
    }
    constexpr uint64_t kNsInSecond = 1'000'000'000;
    const auto changed = static_cast<uint64_t>(std::max<time_t>(status.st_mtim.tv_sec, 0)) * kNsInSecond +
                         static_cast<uint64_t>(status.st_mtim.tv_nsec);
    if (changed >= *started_) {
      return {{}, "it was changed after the recording"};
    }
    const BoundedText text = read_bounded(fd.get(), kMostBytes);
    if (text.end != BoundedText::End::whole || text.text.size() > kMostBytesInAll - bytes_) {
      return {{}, "it is too large, or cannot be read"};
    }
    bytes_ += text.text.size();
    return {lines_of(text.text), {}};
  }

  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      if (!lines.back().empty() && lines.back().back() == '\r') {
        lines.back().pop_back();
      }
      at = end + 1;
    }
    return lines;
  }

  std::optional<uint64_t> started_;
  std::map<std::string, output::SourceText, std::less<>> known_;
  size_t bytes_ = 0;
};

// The first, where a merged profile has several.
std::optional<uint64_t> start_of(const analyze::ProfileInfo& info) {
  std::optional<uint64_t> start;
  const auto [begin, end] = info.meta.equal_range("start_unix_ns");
  for (auto value = begin; value != end; ++value) {
    uint64_t ns = 0;
    const std::string& text = value->second;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), ns);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      return std::nullopt;
    }
    start = std::min(start.value_or(ns), ns);
  }
  return start;
}

class Annotate : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    auto* const gpu = app.add_flag("--gpu", gpu_, "the code of GPU kernels, with its samples (default)");
    app.add_flag("--cpu", cpu_, "the lines of the CPU that launch work, with the GPU time below them")->excludes(gpu);
    app.add_option("--kernel", kernel_, "only kernels whose name this regular expression matches (POSIX extended)")
        ->type_name("REGEX");
    app.add_option("--limit", options_.kernels,
                   "kernels to show, those with most samples, or files of --cpu; 0 for all (default 5)")
        ->check(CLI::Range(size_t{0}, kMostKernels));
    window_.declare(app);
    app.footer(
        "Source files are read where they lie on this machine and were not changed since the recording began; of "
        "others "
        "there are line numbers only. What is inlined stands below the line that calls it.");
  }

  Result<int> run() override {
    if (Status good = window_.check(); !good) {
      return std::move(good).error();
    }
    if (!kernel_.empty()) {
      auto pattern = Pattern::compile("--kernel", kernel_);
      if (!pattern) {
        return std::move(pattern).error();
      }
      options_.wanted = [pattern = std::move(pattern).value()](std::string_view name) {
        return pattern.matches(std::string(name));
      };
    }
    auto reader = input_.open();
    if (!reader) {
      return std::move(reader).error();
    }
    auto rows = analyze::aggregate(*reader, {.window = window_.chosen()});
    if (!rows) {
      return std::move(rows).error();
    }
    warn_of_gaps(rows->info);
    Sources sources(start_of(rows->info));
    const output::FindSource find = [&sources](std::string_view path) -> const output::SourceText& {
      return sources.find(path);
    };
    return cpu_ ? annotate_cpu(*rows, find) : annotate_gpu(*rows, find);
  }

 private:
  [[nodiscard]] Result<int> annotate_cpu(const analyze::Aggregate& rows, const output::FindSource& find) const {
    const analyze::LaunchingLines lines = analyze::launching_lines(rows, options_.wanted);
    if (lines.all.count == 0 && window_.chosen() && kernel_.empty()) {
      return window_.nothing("GPU work or launches");
    }
    if (lines.all.count == 0) {
      return kernel_.empty() ? Error{"the profile has no GPU work and no launches",
                                     "`gpuprof dump` shows what is in it", kExitNothing}
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
                escaped(kernel_) + "'" + (window_.chosen() ? " " + window_.text() : ""),
            "`gpuprof report` lists the kernels", kExitNothing};
  }

  [[nodiscard]] Result<int> annotate_gpu(const analyze::Aggregate& rows, const output::FindSource& find) const {
    if (rows.info.samples == 0) {
      return Error{"the profile has no samples of GPU code", "record them with `gpuprof record --pc-sampling`",
                   kExitNothing};
    }
    if (window_.chosen() && rows.samples.empty()) {
      return window_.nothing("work with samples");
    }
    window_.explain(rows);
    if (const std::string dropped = output::dropped_samples_text(rows.info); !dropped.empty()) {
      log::warn(dropped + ": shares of lines may be wrong, too");
    }
    const auto kernels = analyze::annotate(rows, options_);
    if (kernels.empty()) {
      return nothing_matches();
    }
    Status written = write_output("-", [&](TextStream& out) {
      for (const analyze::AnnotatedKernel& kernel : kernels) {
        out.text().append(&kernel == kernels.data() ? "" : "\n\n");
        output::annotate_text(kernel, find, out);
      }
    });
    return written ? Result<int>(0) : Result<int>(std::move(written).error());
  }

  Input input_;
  analyze::AnnotateOptions options_{.kernels = 5, .wanted = {}};
  std::string kernel_;
  Window window_;
  bool gpu_ = false;
  bool cpu_ = false;
};

}  // namespace

std::unique_ptr<Command> make_annotate() {
  return std::make_unique<Annotate>();
}

}  // namespace gpuprof::cmd
