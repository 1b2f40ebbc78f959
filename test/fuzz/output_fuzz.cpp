// Any bytes as a profile, up to what users see of it: no output may crash, and folded stacks must hold every
// nanosecond. Its inputs are those of profile_fuzz.cpp, which looks at reading and adding up. Not run: `dump`, and what
// trims, hides or groups stacks.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/fold.h"
#include "analyze/latency.h"
#include "analyze/summarize.h"
#include "output/chrome_trace.h"
#include "output/folded.h"
#include "output/latency.h"
#include "output/report/report.h"
#include "output/svg.h"
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
  require(sum_of_lines(output::folded(result.tree, {WeightKind::time, TimeUnit::ns})) == total.ns);
  require(sum_of_lines(output::folded(result.tree, {WeightKind::time, TimeUnit::us})) == total.ns / 1000);
  require(sum_of_lines(output::folded(result.tree, {WeightKind::count})) == total.count);
  output::SvgOptions picture;
  picture.weight = {lines ? WeightKind::count : WeightKind::time, TimeUnit::us};
  require(!output::svg(result.tree, picture).empty());
}

void report(const analyze::Aggregate& rows) {
  const analyze::Summary summary = analyze::summarize(rows, {.limits = {10, 10, 10, 10}});
  collect_text([&](TextStream& out) { output::report_text(summary, {.width = 100, .colors = true}, out); });
  collect_text([&](TextStream& out) { output::report_json(summary, out); });
}

void latencies(const analyze::Aggregate& rows, bool paths) {
  const std::vector<analyze::LatencyLine> lines = analyze::latency_lines(rows, {.paths = paths, .top = 10});
  collect_text([&](TextStream& out) { output::latency_table(lines, 100, out); });
  collect_text([&](TextStream& out) { output::latency_json(lines, out); });
}

// As `export --lenient` reads: definitions that contradict others are left out.
void chrome_trace(std::string_view text) {
  auto reader = fuzz::open(text, {.lenient = true});
  require(static_cast<bool>(reader));
  profile::Tables tables;
  const analyze::StackOptions stacks;
  output::ChromeTrace written(tables, stacks, [](std::string_view) { return Status(); });
  for (;;) {
    const auto next = reader->next();
    if (!next || !next->has_value()) {
      break;
    }
    if (!tables.add(**next)) {
      require(static_cast<bool>(written.add(**next)));
    }
  }
  require(static_cast<bool>(written.finish()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto reader = fuzz::open(text, {.lenient = true});
  if (!reader) {
    return 0;
  }
  if (const auto rows = analyze::aggregate(*reader, {.host = true, .idle = true, .latency = true})) {
    fold(*rows, size % 2 != 0);
    report(*rows);
    latencies(*rows, size % 2 != 0);
    chrome_trace(text);
  }
  return 0;
}
