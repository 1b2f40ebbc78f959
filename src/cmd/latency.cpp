#include "output/latency.h"

#include <regex.h>

#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/terminal.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kMostLines = 1'000'000'000;

// POSIX extended; unlike std::regex it takes names of any length, and throws nothing.
class Pattern {
 public:
  Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (compiled_) {
      ::regfree(&regex_);
    }
  }

  Status compile(const std::string& text) {
    const int error = ::regcomp(&regex_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error != 0) {
      std::array<char, 256> reason{};
      ::regerror(error, &regex_, reason.data(), reason.size());
      return Error{"--kernel: not a regular expression: " + std::string(reason.data()),
                   "put a \\ before what is meant literally", kExitUsage};
    }
    compiled_ = true;
    return {};
  }
  [[nodiscard]] bool matches(std::string_view name) const {
    return ::regexec(&regex_, std::string(name).c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t regex_{};
  bool compiled_ = false;
};

class Latency : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    app.add_flag("--paths", options_.paths, "a histogram for each call path, not only for each kernel");
    app.add_option("--kernel", kernel_, "only kernels whose name this regular expression matches (POSIX extended)")
        ->type_name("REGEX");
    app.add_option("--top", options_.top, "kernels or call paths to show, 0 for all (default 10)")
        ->check(CLI::Range(size_t{0}, kMostLines));
    app.add_option("--width", width_, "of the tables, in characters (default: the terminal's)")
        ->check(CLI::Range(size_t{40}, kMaxWidth));
    app.add_flag("--json", json_, "print JSON");
    app.footer(
        "Phases: call to queued (from the API call to when the driver queued the work), queued to submitted,\n"
        "submitted to start, and call to start, the whole way. Rows of a histogram are powers of two; the bars of\n"
        "each column are in proportion to its longest one. Percentiles are at most an eighth too high.");
  }

  Result<int> run() override {
    if (!kernel_.empty()) {
      if (Status compiled = pattern_.compile(kernel_); !compiled) {
        return std::move(compiled).error();
      }
      options_.wanted = [this](std::string_view name) { return pattern_.matches(name); };
    }
    auto reader = input_.open();
    if (!reader) {
      return std::move(reader).error();
    }
    auto rows = analyze::aggregate(*reader, {.latency = true});
    if (!rows) {
      return std::move(rows).error();
    }
    warn_of_gaps(rows->info);
    if (rows->latencies.empty()) {
      return Error{"the profile has no launch latencies", "record them with `gpuprof record --latency`"};
    }
    const auto lines = analyze::latency_lines(*rows, options_);
    if (lines.empty()) {
      log::warn("no kernel's name matches '" + kernel_ + "'");
    }
    const std::string text =
        json_ ? output::latency_json(lines) : output::latency_table(lines, width_ != 0 ? width_ : terminal_width());
    if (Status written = write_output("-", text); !written) {
      return std::move(written).error();
    }
    return 0;
  }

 private:
  Input input_;
  analyze::LatencyOptions options_{.top = 10};
  std::string kernel_;
  Pattern pattern_;
  size_t width_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_latency() {
  return std::make_unique<Latency>();
}

}  // namespace gpuprof::cmd
