// Any bytes as a profile, up to what users see of it: no output may crash, and folded stacks must hold every
// nanosecond. Its inputs are those of profile_fuzz.cpp, which looks at reading and adding up.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "analyze/fold.h"
#include "analyze/summarize.h"
#include "output/folded.h"
#include "output/report.h"
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
}

void report(const analyze::Aggregate& rows) {
  const analyze::Summary summary = analyze::summarize(rows, 10);
  collect_text([&](TextStream& out) { output::report_table(summary, 100, out); });
  collect_text([&](TextStream& out) { output::report_json(summary, out); });
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
  }
  return 0;
}
