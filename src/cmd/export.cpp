#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "analyze/paths/walk.h"
#include "analyze/rows/totals.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "cmd/command.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/output.h"
#include "cmd/common/stack_choices.h"
#include "cmd/common/window.h"
#include "output/chrome_trace.h"
#include "output/export/perfetto.h"
#include "output/export/pprof.h"
#include "output/export/rows.h"
#include "output/export/speedscope.h"
#include "output/export/sqlite.h"
#include "profile/tables.h"

namespace gpuprof::cmd {
namespace {

// A format with sums per call path, kernel and process, and without times of single work items.
struct Format {
  const char* word;
  const char* advice;  // printed after "wrote FILE"
  bool is_text;
  Status (*fits)(const analyze::Walk& walk);
  void (*write)(analyze::Walk& walk, TextStream& out);
};
Status fits_all(const analyze::Walk& /*walk*/) {
  return {};
}

constexpr std::array<Format, 5> kFormats = {{
    {"pprof", "look at it with `go tool pprof -http=:`", false, output::fits_pprof, output::write_pprof},
    {"speedscope", "open it in https://www.speedscope.app", true, fits_all, output::write_speedscope},
    {"folded", "draw it with flamegraph.pl", true, fits_all, output::write_stacks},
    {"json", "docs/schema/export.json describes it", true, fits_all, output::write_json},
    {"csv", "", true, fits_all, output::write_csv},
}};
constexpr const char* kChrome = "chrome";
constexpr const char* kPerfetto = "perfetto";
constexpr const char* kSqlite = "sqlite";
constexpr uint64_t kManyBytes = 500'000'000;  // larger JSON files make viewers slow or crash them

std::vector<std::string> format_words() {
  std::vector<std::string> words = {kChrome, kPerfetto, kSqlite};
  std::transform(kFormats.begin(), kFormats.end(), std::back_inserter(words),
                 [](const Format& format) { return format.word; });
  return words;
}

class Export : public Command {
 public:
  void declare(CLI::App& app) override {
    input_.declare(app);
    expect_one_of(app.add_option("--format", format_, "format of the file"), format_words())->required();
    add_file_option(app, "-o,--output", output_, "file to write; - is stdout (default: -)");
    window_.declare(app);
    stacks_.declare(app);
    show_in_help(app, {"--input", "--format", "--output", "--from", "--to", "--root", "--hide"});
  }

  Result<int> run() override {
    analyze::StackOptions stacks;
    RETURN_IF_ERROR(stacks_.apply(stacks));
    RETURN_IF_ERROR(window_.check());
    const bool is_timeline = format_ == kChrome || format_ == kPerfetto;
    if (is_timeline && window_.chosen()) {
      return Error{"--from and --to apply to sums of time slices, but --format " + format_ + " exports the timeline",
                   "zoom in the viewer, or cut the profile: gpuprof filter " +
                       analyze::window_options(*window_.chosen()) + " FILE | gpuprof export --format " + format_,
                   kExitUsage};
    }
    const auto* const format =
        std::find_if(kFormats.begin(), kFormats.end(), [this](const Format& f) { return f.word == format_; });
    const bool is_text = format != kFormats.end() ? format->is_text : format_ == kChrome;
    if (!is_text && output_ == "-" && ::isatty(STDOUT_FILENO) != 0) {
      return Error{"the format " + format_ + " cannot be printed on a terminal", "name a file with -o", kExitUsage};
    }
    auto reader = input_.open();
    RETURN_IF_ERROR(reader);
    RETURN_IF_ERROR(may_write(output_, input_.files));
    return is_timeline ? write_trace(*reader, stacks)
                       : write_sums(*reader, stacks, format == kFormats.end() ? nullptr : &*format);
  }

 private:
  Result<int> write_sums(profile::Reader& reader, const analyze::StackOptions& stacks, const Format* format) {
    auto rows = analyze::aggregate(
        reader, {.host = format == nullptr, .durations = true, .queue = true, .window = window_.chosen()});
    RETURN_IF_ERROR(rows);
    analyze::add_overlap_warnings(*rows);
    warn_of_gaps(rows->info);
    warn_of_coverage(rows->info);
    if (rows->info.kind == analyze::ProfileKind::empty) {
      return no_gpu_work(rows->info, rows->tables);
    }
    if (window_.chosen() && rows->no_rows()) {
      return window_.nothing(*rows, "GPU work");
    }
    window_.explain(*rows);
    analyze::Walk walk(*rows, stacks);
    RETURN_IF_ERROR(format == nullptr ? write_database(walk) : write_rows(walk, *format));
    stacks_.explain(walk.trimmed());
    return 0;
  }

  [[nodiscard]] Status write_rows(analyze::Walk& walk, const Format& format) const {
    Status fits = format.fits(walk);
    return fits ? write_file(output_, format.advice, [&](TextStream& out) { format.write(walk, out); }) : fits;
  }

  [[nodiscard]] Status write_database(analyze::Walk& walk) const {
    return output::with_sqlite(walk, output::kMostPages, [&](std::string_view bytes) {
      return write_file(output_, "query it with sqlite3", [&](TextStream& out) { out.append(bytes); });
    });
  }

  Result<int> write_trace(profile::Reader& reader, const analyze::StackOptions& stacks) {
    const FileLimitAsError limit;
    auto file = OutputFile::open(output_, {.keep_old = true, .mode = 0644, .stop = {}});
    RETURN_IF_ERROR(file);
    UniqueFd fd = file->take_fd();
    WrittenFile result{.place = {}, .bytes = 0, .regular = file->is_regular()};
    profile::Tables tables;
    const output::Timeline::Sink sink = [&](std::string_view text) {
      result.bytes += text.size();
      return write_all(fd.get(), text, file->name());
    };
    const auto make = format_ == kPerfetto ? output::perfetto_trace : output::chrome_trace;
    const std::unique_ptr<output::Timeline> trace = make(tables, stacks, sink);
    const Status read = read_records(reader, tables, [&](const profile::Record& record) { return trace->add(record); });
    RETURN_IF_ERROR(read);
    if (trace->events() == 0) {
      return Error{"the profile has no timeline",
                   trace->info().meta.contains("attach.counts_only")
                       ? "record the program from its start: gpuprof record --timeline -- COMMAND"
                       : "record one with `gpuprof record --timeline`",
                   kExitNothing};
    }
    trace->info().count_skipped(reader);
    RETURN_IF_ERROR(trace->finish());
    RETURN_IF_ERROR(close_written(std::move(fd), file->name()));
    auto named = file->finish();
    RETURN_IF_ERROR(named);
    result.place = std::move(*named);
    report_written(result, "open it in https://ui.perfetto.dev");
    warn_of_gaps(trace->info());
    warn_of_coverage(trace->info());
    if (format_ == kChrome && result.bytes > kManyBytes) {
      log::warn("the trace has " + bytes_text(result.bytes) + ": viewers take long to read so much JSON, or fail",
                "--format perfetto needs a tenth of the size, and is read piece by piece");
    }
    stacks_.explain(trace->trimmed());
    return 0;
  }

  Input input_;
  StackChoices stacks_;
  Window window_;
  std::string format_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Command> make_export() {
  return std::make_unique<Export>();
}

}  // namespace gpuprof::cmd
