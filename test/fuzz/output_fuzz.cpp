// Fuzzes all outputs of a profile: no output may crash, and folded stacks, diff and check must have the sums
// of the profile. Its inputs are those of profile_fuzz.cpp, which tests reading and summing. `dump`, and options that
// trim, hide or group stacks, are not tested.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/paths/annotate.h"
#include "analyze/paths/fold.h"
#include "analyze/paths/inverted.h"
#include "analyze/paths/source_lines.h"
#include "analyze/rows/latency.h"
#include "analyze/rows/summarize.h"
#include "compare/comparison.h"
#include "compare/judge/judge.h"
#include "compare/run.h"
#include "output/annotate.h"
#include "output/chrome_trace.h"
#include "output/compare/check.h"
#include "output/compare/diff.h"
#include "output/export/perfetto.h"
#include "output/export/pprof.h"
#include "output/export/rows.h"
#include "output/export/speedscope.h"
#include "output/folded.h"
#include "output/latency.h"
#include "output/picture/html.h"
#include "output/picture/svg.h"
#include "output/picture/time_series.h"
#include "output/report/report.h"
#include "profile/tables.h"
#include "profile_input.h"

namespace {

using namespace gpuprof;
using fuzz::require;

uint64_t sum_of_lines(const std::string& folded) {
  uint64_t sum = 0;
  for (size_t at = 0; at < folded.size();) {
    const size_t end = folded.find('\n', at);
    require(end != std::string::npos);
    const size_t space = folded.rfind(' ', end);
    sum += std::strtoull(folded.c_str() + space + 1, nullptr, 10);
    at = end + 1;
  }
  return sum;
}

void fold(const analyze::Aggregate& rows, bool lines) {
  using output::TimeUnit;
  using output::WeightKind;
  const analyze::FoldResult result = analyze::fold(rows, {.stacks = {.lines = lines}});
  const analyze::Weight total = result.tree.total();
  const std::string in_ns = output::folded(result.tree, {WeightKind::time, TimeUnit::ns});
  require(sum_of_lines(in_ns) == total.ns);
  // Each line is rounded alone.
  const uint64_t us = sum_of_lines(output::folded(result.tree, {WeightKind::time, TimeUnit::us}));
  const uint64_t most = static_cast<uint64_t>(std::count(in_ns.begin(), in_ns.end(), '\n')) + 1;
  require(us <= total.ns / 1000 + most && us + most >= total.ns / 1000);
  require(sum_of_lines(output::folded(result.tree, {WeightKind::count})) == total.count);
  output::SvgOptions picture;
  picture.weight = {lines ? WeightKind::count : WeightKind::time, TimeUnit::us};
  require(!output::svg(result.tree, picture).empty());
  const analyze::Weight all = result.tree.total();
  const analyze::Weight turned = analyze::inverted(result.tree).tree.total();
  require(turned.ns == all.ns && turned.count == all.count && turned.bytes == all.bytes);
}

void time_series(const analyze::Aggregate& rows) {
  const auto series = analyze::time_series(rows, analyze::Measure::gpu, output::kMostHeatCells);
  if (!series) {
    require(!series.error().message.empty());
    return;
  }
  const bool samples = rows.info.kind == analyze::ProfileKind::stall_samples;
  require(samples ? series->total.count == rows.sample_count : series->total.ns == rows.total.ns);
  require(series->cells.size() <= output::kMostHeatCells);
  require(!output::heat_map(*series, {.kind = output::WeightKind::count}).empty());
}

void report(const analyze::Aggregate& rows) {
  const analyze::Summary summary = analyze::summarize(rows, {.limits = {10, 10, 10, 10}});
  collect_text([&](TextStream& out) { output::report_text(summary, {.width = 100, .colors = true}, out); });
  collect_text([&](TextStream& out) { output::report_json(summary, out); });
  require(output::html({}, summary, {}).ends_with("</html>\n"));
}

void annotate(const analyze::Aggregate& rows) {
  static const output::SourceText kNoSource;
  const output::FindSource find = [](std::string_view) -> const output::SourceText& { return kNoSource; };
  for (const analyze::AnnotatedKernel& kernel : analyze::annotate(rows, {.kernels = 10, .wanted = {}})) {
    collect_text([&](TextStream& out) { output::annotate_text(kernel, find, out); });
  }
  const analyze::LaunchingLines lines = analyze::launching_lines(rows, {});
  collect_text([&](TextStream& out) { output::annotate_cpu_text(lines, 10, find, out); });
}

void latencies(const analyze::Aggregate& rows, bool paths) {
  const std::vector<analyze::LatencyLine> lines = analyze::latency_lines(rows, {.paths = paths, .top = 10});
  collect_text([&](TextStream& out) { output::latency_table(lines, 100, out); });
  collect_text([&](TextStream& out) { output::latency_json(lines, rows.info, out); });
}

// Reads like `export --lenient`, which drops contradictory definitions.
template <typename Make>
void timeline(std::string_view text, Make make) {
  auto reader = fuzz::open(text, {.lenient = true});
  require(static_cast<bool>(reader));
  profile::Tables tables;
  const analyze::StackOptions stacks;
  const auto written = make(tables, stacks, [](std::string_view) { return Status(); });
  for (;;) {
    const auto next = reader->next();
    if (!next || !next->has_value()) {
      break;
    }
    if (!tables.add(**next)) {
      require(static_cast<bool>(written->add(**next)));
    }
  }
  require(static_cast<bool>(written->finish()));
}

void exports(const analyze::Aggregate& rows) {
  analyze::Walk walk(rows, {});
  for (const auto write : {output::write_json, output::write_csv, output::write_speedscope}) {
    collect_text([&](TextStream& out) { write(walk, out); });
  }
  if (output::fits_pprof(walk)) {
    collect_text([&](TextStream& out) { output::write_pprof(walk, out); });
  }
}

const compare::Run& small_run() {
  static const compare::Run run = [] {
    constexpr std::string_view kProfile =
        "GPUPROF;3.0\nSTRING;1;main\nSTRING;2;gemm<float, 4>\nSTRING;3;cupti\nSTRING;4;GPU\n"
        "FRAME;1;native;1;0;0;0;0;0x1\nUSTACK;1;1\nPROCESS;1;1;0;0;1;1;0;0\nDEVICE;1;3;0;4;0\n"
        "WORK;1;1;1;0;1;0;0;0;1;0;kernel;2;0\nGPU;0;1;2;100;50;50;5000;0;0\n";
    auto reader = profile::Reader::open_text(kProfile, "small");
    require(static_cast<bool>(reader));
    auto read = compare::read_run(*reader, "small", {}, compare::kMostPathFrames);
    require(static_cast<bool>(read) && read->total.ns == 100);
    return std::move(read).value();
  }();
  return run;
}

void require_exact(const compare::Comparison& all) {
  for (size_t at = 0; at < all.runs.size(); ++at) {
    compare::Cost kernels;
    compare::Cost paths;
    for (const compare::KernelLine& kernel : all.kernels) {
      kernels += kernel.costs[at];
    }
    for (const compare::PathLine& path : all.paths) {
      paths += path.costs[at];
    }
    require(kernels.ns == all.totals[at].ns && kernels.count == all.totals[at].count);
    require(paths.ns == all.totals[at].ns && paths.count == all.totals[at].count);
  }
}

void differences(std::span<const compare::Run> before, std::span<const compare::Run> after, bool same) {
  const compare::Comparison all = compare::compare(before, after);
  require_exact(all);
  const output::DiffLines lines = output::diff_lines(all, after.front().timed, {});
  require(!same || lines.nothing_differs());
  const output::DiffOptions options{.top = 10};
  collect_text([&](TextStream& out) { output::diff_text(lines, options, out); });
  collect_text([&](TextStream& out) { output::diff_markdown(lines, options, out); });
  collect_text([&](TextStream& out) { output::diff_json(lines, out); });
  collect_text([&](TextStream& out) { output::diff_folded(lines, out); });
  require(!output::diff_svg(lines, !same, "").empty());
}

// Checks the verdict on three old and three new runs; fewer runs cannot have a verdict. `same`: both sides are equal.
void verdict(const std::vector<compare::Run>& before, const std::vector<compare::Run>& after, bool same) {
  const compare::Comparison all = compare::compare(before, after);
  const compare::Judgement judgement = compare::judge(all, {});
  require(!same || judgement.outcome != compare::Outcome::regression);
  collect_text([&](TextStream& out) { output::check_text(all, judgement, 80, out); });
  collect_text([&](TextStream& out) { output::check_markdown(all, judgement, out); });
  collect_text([&](TextStream& out) { output::check_json(all, judgement, out); });
  collect_text([&](TextStream& out) { output::check_junit(all, judgement, out); });
  collect_text([&](TextStream& out) { output::check_annotations(all, judgement, out); });
}

void compare_runs(const analyze::Aggregate& rows, bool same) {
  const compare::Run run = compare::run_of(rows, "fuzz", {});
  const compare::Run& other = same ? run : small_run();
  differences({&run, 1}, {&other, 1}, same);
  verdict({3, run}, {3, other}, same);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto reader = fuzz::open(text, {.lenient = true});
  if (!reader) {
    return 0;
  }
  if (const auto rows = analyze::aggregate(*reader, {.host = true,
                                                     .idle = true,
                                                     .latency = true,
                                                     .blocks = true,
                                                     .durations = true,
                                                     .queue = true,
                                                     .stall_slices = true,
                                                     .slices = analyze::Measure::gpu})) {
    fold(*rows, size % 2 != 0);
    time_series(*rows);
    report(*rows);
    annotate(*rows);
    latencies(*rows, size % 2 != 0);
    timeline(text, output::chrome_trace);
    timeline(text, output::perfetto_trace);
    exports(*rows);
    compare_runs(*rows, size % 4 < 2);
  }
  return 0;
}
